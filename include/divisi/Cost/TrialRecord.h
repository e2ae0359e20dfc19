//===- TrialRecord.h - Pipelines that were compared -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who searches the numbers of micro-batches and stages notes on the module what
// was tried:
//
//   divisi.trials = [{micro_batches = 1, stages = 1, nanoseconds = 900,
//                     taken = false, left_out = ""}, …]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_TRIALRECORD_H
#define DIVISI_COST_TRIALRECORD_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// One of the pipelines.
struct TrialRecord {
  int64_t microBatches = 1; ///< In a call.
  /// 0: however many there are of so many micro-batches.
  int64_t stages = 1;
  std::optional<int64_t> nanoseconds; ///< Of a call, as simulated.
  bool isTaken = false;               ///< It is the answer.
  std::string leftOut;                ///< Why it has no time; else empty.

  friend bool operator==(const TrialRecord &, const TrialRecord &) = default;
};

/// Notes `records` on `module`, in place of what is noted there; none leave no
/// note.
void setTrialRecords(mlir::ModuleOp module,
                     llvm::ArrayRef<TrialRecord> records);
/// What is noted on `module`. ExitCode::Invalid for an attribute that somebody
/// has broken.
Expected<std::vector<TrialRecord>> getTrialRecords(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_COST_TRIALRECORD_H
