//===- PrecisionRecord.cpp - What lowering has changed --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Precision/Precision.h"

#include "divisi/Support/Units.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace divisi;

static constexpr StringLiteral kPrecisionAttr = "divisi.precision";

void divisi::setPrecisionRecord(ModuleOp module,
                                const PrecisionRecord &record) {
  Builder builder(module.getContext());
  NamedAttrList list;
  list.set("type", builder.getStringAttr(record.type));
  forEachCount(record, [&](StringRef name, int64_t count) {
    list.set(name, builder.getI64IntegerAttr(count));
  });
  module->setAttr(kPrecisionAttr, list.getDictionary(module.getContext()));
}

divisi::Expected<std::optional<PrecisionRecord>>
divisi::getPrecisionRecord(ModuleOp module) {
  Attribute attribute = module->getAttr(kPrecisionAttr);
  if (!attribute) {
    return std::optional<PrecisionRecord>();
  }
  PrecisionRecord record;
  std::string wrong = "type";
  auto attributes = dyn_cast<DictionaryAttr>(attribute);
  if (auto type = attributes ? attributes.getAs<StringAttr>("type") : nullptr) {
    record.type = type.str();
    wrong.clear();
    forEachCount(record, [&](StringRef name, int64_t &count) {
      auto number = attributes.getAs<IntegerAttr>(name);
      if (number && number.getType().isSignlessInteger(64)) {
        count = number.getInt();
      } else if (wrong.empty()) {
        wrong = name.str();
      }
    });
  }
  if (!wrong.empty()) {
    return makeError(ExitCode::Invalid, kPrecisionAttr.str(), " has no '",
                     wrong,
                     "' of the type that --precision writes; if the attribute "
                     "is removed, reports do not say what it changed");
  }
  return std::optional<PrecisionRecord>(record);
}

/// `3 operators`
static std::string countOf(int64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string divisi::describe(const PrecisionRecord &record) {
  std::string kept;
  auto add = [&](int64_t count, const char *what) {
    if (count > 0) {
      kept += (kept.empty() ? "" : ", ") + std::to_string(count) + " " + what;
    }
  };
  add(record.sensitive, "norms, softmax and the like");
  add(record.between, "next to those");
  add(record.sums, "after sums");
  add(record.joins, "residual additions");
  add(record.first, "first products");
  add(record.tables, "positions and masks");
  add(record.named, "by --keep-f32");
  int64_t wide = record.sensitive + record.between + record.sums +
                 record.joins + record.first + record.tables + record.named;
  std::string text = countOf(record.narrowOperators, "operator") + " and " +
                     countOf(record.narrowWeights, "weight") + " became " +
                     record.type;
  if (wide > 0) {
    text += "; " + countOf(wide, "operator") + " stayed f32 (" + kept + ")";
  }
  if (record.narrowSums > 0) {
    text += "; " + countOf(record.narrowSums, "sum") + " of products became " +
            record.type + ", in which their parts travel";
  }
  if (record.wideWeights > 0) {
    text += "; " + countOf(record.wideWeights, "weight") + " stayed f32";
  }
  return text + "; " + formatBytes(double(record.bytesBefore)) +
         " of weights became " + formatBytes(double(record.bytesAfter));
}
