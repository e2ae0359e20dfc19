//===- RuleRecord.cpp - Where rules were applied --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/RuleRecord.h"

#include "divisi/Rules/ProofRecord.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::rewrite;

static constexpr StringLiteral kRulesAttr = "divisi.rules";
static constexpr StringLiteral kSavingAttr = "divisi.saving";

/// So many nodes of a rule are printed.
static constexpr size_t kMostNodes = 4;

std::string divisi::rewrite::fileOf(const ProvedRule &proved) {
  return proved.file.empty() ? "Divisi" : proved.file;
}

void divisi::rewrite::setRuleRecords(ModuleOp module,
                                     const std::vector<RuleRecord> &records) {
  Builder builder(module.getContext());
  SmallVector<Attribute> all;
  for (const RuleRecord &record : records) {
    NamedAttrList list;
    list.set("name", builder.getStringAttr(record.name));
    list.set("file", builder.getStringAttr(record.file));
    list.set("class", builder.getStringAttr(record.numericClass));
    list.set("times", builder.getI64IntegerAttr(record.times));
    list.set("nodes", builder.getStrArrayAttr(SmallVector<StringRef>(
                          record.nodes.begin(), record.nodes.end())));
    list.set("declined", builder.getStringAttr(record.declined));
    all.push_back(list.getDictionary(module.getContext()));
  }
  module->setAttr(kRulesAttr, builder.getArrayAttr(all));
}

/// Whether `attribute` is a record, which then is read.
static bool readOne(Attribute attribute, RuleRecord &record) {
  auto list = dyn_cast<DictionaryAttr>(attribute);
  if (!list) {
    return false;
  }
  for (auto [name, text] :
       {std::pair("name", &record.name), std::pair("file", &record.file),
        std::pair("class", &record.numericClass),
        std::pair("declined", &record.declined)}) {
    auto value = list.getAs<StringAttr>(name);
    if (!value) {
      return false;
    }
    *text = value.str();
  }
  auto times = list.getAs<IntegerAttr>("times");
  auto nodes = list.getAs<ArrayAttr>("nodes");
  if (!times || !times.getType().isSignlessInteger(64) || !nodes) {
    return false;
  }
  record.times = times.getInt();
  for (Attribute node : nodes) {
    auto text = dyn_cast<StringAttr>(node);
    if (!text) {
      return false;
    }
    record.nodes.push_back(text.str());
  }
  return true;
}

divisi::Expected<std::vector<RuleRecord>>
divisi::rewrite::getRuleRecords(ModuleOp module) {
  std::vector<RuleRecord> records;
  Attribute attribute = module->getAttr(kRulesAttr);
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  bool isRead = !attribute || list;
  for (size_t i = 0; list && i != list.size(); ++i) {
    isRead = isRead && readOne(list[i], records.emplace_back());
  }
  if (!isRead) {
    return makeError(ExitCode::Invalid, kRulesAttr.str(),
                     " is not what --rules writes; if the attribute is "
                     "removed, reports do not say where rules were applied");
  }
  return records;
}

void divisi::rewrite::setSavingRecord(ModuleOp module,
                                      const SavingRecord &record) {
  Builder builder(module.getContext());
  NamedAttrList list;
  list.set("devices", builder.getI64IntegerAttr(record.devices));
  list.set("before", builder.getI64IntegerAttr(record.before));
  list.set("after", builder.getI64IntegerAttr(record.after));
  module->setAttr(kSavingAttr, list.getDictionary(module.getContext()));
}

divisi::Expected<std::optional<SavingRecord>>
divisi::rewrite::getSavingRecord(ModuleOp module) {
  Attribute attribute = module->getAttr(kSavingAttr);
  if (!attribute) {
    return std::optional<SavingRecord>();
  }
  auto list = dyn_cast<DictionaryAttr>(attribute);
  SavingRecord record;
  for (auto [name, value] : {std::pair("devices", &record.devices),
                             std::pair("before", &record.before),
                             std::pair("after", &record.after)}) {
    auto number = list ? list.getAs<IntegerAttr>(name) : IntegerAttr();
    if (!number || !number.getType().isSignlessInteger(64) ||
        number.getInt() < 0) {
      return makeError(ExitCode::Invalid, kSavingAttr.str(),
                       " is not what --rewrite writes; if the attribute is "
                       "removed, reports do not say what rewriting saves");
    }
    *value = number.getInt();
  }
  return std::optional<SavingRecord>(record);
}

std::vector<RuleRecord>
divisi::rewrite::appliedSince(const std::vector<RuleRecord> &before,
                              std::vector<RuleRecord> after) {
  for (RuleRecord &record : after) {
    for (const RuleRecord &old : before) {
      if (old.name == record.name && old.file == record.file) {
        record.times -= old.times;
      }
    }
  }
  llvm::erase_if(after,
                 [](const RuleRecord &record) { return record.times <= 0; });
  return after;
}

std::string divisi::rewrite::describe(const RuleRecord &record) {
  if (record.times == 0) {
    return record.declined.empty()
               ? "applied nowhere: its source does not occur"
               : "applied nowhere; " + record.declined;
  }
  std::string text = "applied " + std::to_string(record.times) +
                     (record.times == 1 ? " time" : " times");
  for (size_t i = 0; i != std::min(record.nodes.size(), kMostNodes); ++i) {
    text += (i == 0 ? ": " : ", ") + record.nodes[i];
  }
  if (record.nodes.size() > kMostNodes) {
    text += ", and at " + std::to_string(record.nodes.size() - kMostNodes) +
            " more nodes";
  }
  return text;
}
