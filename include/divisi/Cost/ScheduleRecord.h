//===- ScheduleRecord.h - Predicted times of a schedule ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stage Schedule records its prediction on the module, for reports:
//
//   divisi.schedule = [{entry = "forward", nanoseconds = 900,
//                       communication = 500, exposed = 100}]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_SCHEDULERECORD_H
#define DIVISI_COST_SCHEDULERECORD_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// Where it stands.
inline constexpr llvm::StringLiteral kScheduleAttr = "divisi.schedule";

/// Of one entry, in nanoseconds.
struct ScheduleRecord {
  std::string entry; ///< Its name.
  /// Of one run, collectives beside operators, and copies of inputs and outputs
  /// before and after.
  int64_t nanoseconds = 0;
  int64_t communication = 0; ///< All collectives, of the rank with the most.
  int64_t exposed = 0;       ///< What of it operators do not hide.
  /// What collectives of weights fetch ahead of their use, in bytes.
  int64_t fetchedAhead = 0;
  friend bool operator==(const ScheduleRecord &,
                         const ScheduleRecord &) = default;
};

/// Writes `records` to `module`.
void setScheduleRecords(mlir::ModuleOp module,
                        llvm::ArrayRef<ScheduleRecord> records);
/// Those of `module`; none before the stage, or without overlap.
/// ExitCode::Invalid for an attribute that somebody has broken.
Expected<std::vector<ScheduleRecord>> getScheduleRecords(mlir::ModuleOp module);
/// What all entries of `module` take together, by these records, in
/// nanoseconds; nothing if there are none that can be read.
std::optional<int64_t> scheduledTime(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_COST_SCHEDULERECORD_H
