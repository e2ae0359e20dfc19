//===- ScheduleRecord.cpp - What a schedule is predicted to take ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/ScheduleRecord.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace divisi;

/// Of an entry that fetches nothing ahead it is left out.
static constexpr llvm::StringLiteral kFetchedAhead = "fetched_ahead";

void divisi::setScheduleRecords(ModuleOp module,
                                ArrayRef<ScheduleRecord> records) {
  Builder builder(module.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  auto list = llvm::map_to_vector(records, [&](const ScheduleRecord &record) {
    SmallVector<NamedAttribute> fields{
        builder.getNamedAttr("entry", builder.getStringAttr(record.entry)),
        number("nanoseconds", record.nanoseconds),
        number("communication", record.communication),
        number("exposed", record.exposed)};
    if (record.fetchedAhead > 0) {
      fields.push_back(number(kFetchedAhead, record.fetchedAhead));
    }
    return Attribute(builder.getDictionaryAttr(fields));
  });
  module->setAttr(kScheduleAttr, builder.getArrayAttr(list));
}

divisi::Expected<std::vector<ScheduleRecord>>
divisi::getScheduleRecords(ModuleOp module) {
  std::vector<ScheduleRecord> records;
  Attribute attribute = module->getAttr(kScheduleAttr);
  if (!attribute) {
    return records;
  }
  auto list = dyn_cast<ArrayAttr>(attribute);
  bool isRight = bool(list);
  for (Attribute item : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<DictionaryAttr>(item);
    auto name = fields ? fields.getAs<StringAttr>("entry") : StringAttr();
    ScheduleRecord record;
    isRight &= bool(name);
    record.entry = name ? name.str() : "";
    for (auto [field, value] :
         {std::pair(StringRef("nanoseconds"), &record.nanoseconds),
          std::pair(StringRef("communication"), &record.communication),
          std::pair(StringRef("exposed"), &record.exposed),
          std::pair(StringRef(kFetchedAhead), &record.fetchedAhead)}) {
      if (field == kFetchedAhead && !(fields && fields.contains(field))) {
        continue;
      }
      auto number = fields ? fields.getAs<IntegerAttr>(field) : IntegerAttr();
      isRight &= number && number.getType().isSignlessInteger(64);
      *value = isRight ? number.getInt() : 0;
    }
    records.push_back(std::move(record));
  }
  if (!isRight) {
    return makeError(ExitCode::Invalid, kScheduleAttr.str(),
                     ": expected a list of entries with nanoseconds, "
                     "communication and exposed, each an i64");
  }
  return records;
}

std::optional<int64_t> divisi::scheduledTime(ModuleOp module) {
  std::optional<int64_t> time;
  if (auto records = getScheduleRecords(module)) {
    for (const ScheduleRecord &record : *records) {
      time = time.value_or(0) + record.nanoseconds;
    }
  }
  return time;
}
