//===- ProgramRecord.cpp - The programs that were planned -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/RuleRecord.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::rewrite;

static constexpr StringLiteral kProgramsAttr = "divisi.programs";

void divisi::rewrite::setProgramRecords(
    ModuleOp module, const std::vector<ProgramRecord> &records) {
  if (records.empty()) {
    module->removeAttr(kProgramsAttr);
    return;
  }
  Builder builder(module.getContext());
  SmallVector<Attribute> all;
  for (const ProgramRecord &record : records) {
    NamedAttrList list;
    list.set("share", builder.getI64IntegerAttr(record.share));
    for (auto [name, value] : {std::pair("nanoseconds", record.nanoseconds),
                               std::pair("lower_bound", record.lowerBound)}) {
      if (value) {
        list.set(name, builder.getI64IntegerAttr(*value));
      }
    }
    list.set("taken", builder.getBoolAttr(record.isTaken));
    list.set("left_out", builder.getStringAttr(record.leftOut));
    list.set("rules", builder.getStrArrayAttr(SmallVector<StringRef>(
                          record.rules.begin(), record.rules.end())));
    all.push_back(list.getDictionary(module.getContext()));
  }
  module->setAttr(kProgramsAttr, builder.getArrayAttr(all));
}

/// The number of that name, which is at least 0; nothing of another attribute.
static std::optional<int64_t> readNumber(DictionaryAttr list, StringRef name) {
  auto number = list.getAs<IntegerAttr>(name);
  if (!number || !number.getType().isSignlessInteger(64) ||
      number.getInt() < 0) {
    return std::nullopt;
  }
  return number.getInt();
}

/// Whether `attribute` is a record, which then is read.
static bool readOne(Attribute attribute, ProgramRecord &record) {
  auto list = dyn_cast<DictionaryAttr>(attribute);
  if (!list) {
    return false;
  }
  auto share = readNumber(list, "share");
  auto isTaken = list.getAs<BoolAttr>("taken");
  auto leftOut = list.getAs<StringAttr>("left_out");
  auto rules = list.getAs<ArrayAttr>("rules");
  record.nanoseconds = readNumber(list, "nanoseconds");
  record.lowerBound = readNumber(list, "lower_bound");
  if (!share || !isTaken || !leftOut || !rules ||
      record.nanoseconds.has_value() != list.contains("nanoseconds") ||
      record.lowerBound.has_value() != list.contains("lower_bound")) {
    return false;
  }
  record.share = *share;
  record.isTaken = isTaken.getValue();
  record.leftOut = leftOut.str();
  for (Attribute rule : rules) {
    auto text = dyn_cast<StringAttr>(rule);
    if (!text) {
      return false;
    }
    record.rules.push_back(text.str());
  }
  return true;
}

divisi::Expected<std::vector<ProgramRecord>>
divisi::rewrite::getProgramRecords(ModuleOp module) {
  std::vector<ProgramRecord> records;
  Attribute attribute = module->getAttr(kProgramsAttr);
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  bool isRead = !attribute || list;
  for (size_t i = 0; list && i != list.size(); ++i) {
    isRead = isRead && readOne(list[i], records.emplace_back());
  }
  if (!isRead) {
    return makeError(ExitCode::Invalid, kProgramsAttr.str(),
                     " is not what --rewrite joint writes; if the attribute "
                     "is removed, reports do not say which programs were "
                     "planned");
  }
  return records;
}

std::optional<int64_t>
divisi::rewrite::boundOverAll(const std::vector<ProgramRecord> &records) {
  std::optional<int64_t> least;
  for (const ProgramRecord &record : records) {
    if (!record.nanoseconds) {
      continue;
    }
    if (!record.lowerBound) {
      return std::nullopt;
    }
    least = std::min(least.value_or(*record.lowerBound), *record.lowerBound);
  }
  return least;
}
