//===- TrialRecord.cpp - Pipelines that were compared ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/TrialRecord.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace divisi;

static constexpr llvm::StringLiteral kTrialsAttr = "divisi.trials";
static constexpr llvm::StringLiteral kTime = "nanoseconds";

void divisi::setTrialRecords(ModuleOp module, ArrayRef<TrialRecord> records) {
  if (records.empty()) {
    module->removeAttr(kTrialsAttr);
    return;
  }
  Builder builder(module.getContext());
  auto list = llvm::map_to_vector(records, [&](const TrialRecord &record) {
    NamedAttrList fields;
    fields.set("micro_batches", builder.getI64IntegerAttr(record.microBatches));
    fields.set("stages", builder.getI64IntegerAttr(record.stages));
    if (record.nanoseconds) {
      fields.set(kTime, builder.getI64IntegerAttr(*record.nanoseconds));
    }
    fields.set("taken", builder.getBoolAttr(record.isTaken));
    fields.set("left_out", builder.getStringAttr(record.leftOut));
    return Attribute(fields.getDictionary(module.getContext()));
  });
  module->setAttr(kTrialsAttr, builder.getArrayAttr(list));
}

/// Whether `attribute` is a record, which then is read.
static bool readOne(Attribute attribute, TrialRecord &record) {
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  auto isTaken = fields ? fields.getAs<BoolAttr>("taken") : BoolAttr();
  auto leftOut = fields ? fields.getAs<StringAttr>("left_out") : StringAttr();
  if (!isTaken || !leftOut) {
    return false;
  }
  record.isTaken = isTaken.getValue();
  record.leftOut = leftOut.str();
  auto number = [&](StringRef name) -> std::optional<int64_t> {
    auto value = fields.getAs<IntegerAttr>(name);
    bool isRight =
        value && value.getType().isSignlessInteger(64) && value.getInt() >= 0;
    return isRight ? std::optional(value.getInt()) : std::nullopt;
  };
  auto batches = number("micro_batches"), stages = number("stages");
  record.nanoseconds = number(kTime);
  record.microBatches = batches.value_or(0);
  record.stages = stages.value_or(0);
  return record.microBatches > 0 && stages &&
         record.nanoseconds.has_value() == fields.contains(kTime);
}

divisi::Expected<std::vector<TrialRecord>>
divisi::getTrialRecords(ModuleOp module) {
  std::vector<TrialRecord> records;
  Attribute attribute = module->getAttr(kTrialsAttr);
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  bool isRead = !attribute || list;
  for (size_t i = 0; list && i != list.size(); ++i) {
    isRead = isRead && readOne(list[i], records.emplace_back());
  }
  if (!isRead) {
    return makeError(ExitCode::Invalid, kTrialsAttr.str(),
                     " is not what --micro-batches auto writes; if the "
                     "attribute is removed, reports do not say which pipelines "
                     "were compared");
  }
  return records;
}
