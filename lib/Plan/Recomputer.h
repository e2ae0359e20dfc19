//===- Recomputer.h - Searches plans that compute again ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// RecomputePlan.cpp has the way of most steps, RecomputeHeavy.cpp that of large
// ones.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RECOMPUTER_H
#define DIVISI_LIB_PLAN_RECOMPUTER_H

#include "RecomputePlan.h"
#include "RecomputeReading.h"

#include "mlir/IR/OwningOpRef.h"

namespace divisi::plan {

/// A module with a plan.
struct Candidate {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< With the plan.
  PlanReport report;                        ///< Of the plan.
  int64_t missing = 0; ///< Bytes above the limit of the fullest device.
  size_t again = 0;    ///< Operators that run again.
};

/// See the head of RecomputePlan.h.
class Recomputer {
public:
  /// Plans `module` with these options.
  Recomputer(mlir::ModuleOp module, const PlanOptions &options)
      : module_(module), options_(options) {
    options_.control.onPlan = nullptr;
    options_.control.explains = false;
  }

  /// Leaves the best plan in the module; an error where none fits.
  Expected<PlanReport> run();

private:
  bool isTight() const;
  bool isHeavy() const;
  Expected<Candidate> plan(mlir::OwningOpRef<mlir::ModuleOp> module,
                           bool isLimited);
  Expected<Candidate> planGlobals(int64_t limit);
  void decideBelow(const Candidate &least, int64_t limit);
  bool isOver() const;
  Expected<PlanReport> runHeavy();
  mlir::OwningOpRef<mlir::ModuleOp> copyOf(mlir::ModuleOp module) const {
    return mlir::cast<mlir::ModuleOp>(module->clone());
  }
  int64_t missing(mlir::ModuleOp planned, int64_t peak) const;
  std::optional<int64_t> limit(mlir::ModuleOp planned) const;
  void offer(Expected<Candidate> candidate);
  void decide(const Candidate &from, mlir::ModuleOp planned);
  std::optional<Candidate> decideIn(const Candidate &from,
                                    mlir::ModuleOp planned,
                                    RecomputeReading &reading, int64_t peak);
  std::optional<Candidate>
  complete(const Candidate &from, mlir::ModuleOp planned,
           const RecomputeReading &reading,
           llvm::ArrayRef<std::vector<unsigned>> again);
  void decideAll(const Candidate &from);
  Expected<PlanReport> adopt();
  Status whyNone();

  mlir::ModuleOp module_;
  PlanOptions options_;
  std::optional<Candidate> best_;
  Status first_; ///< Why there is none.
  mlir::OwningOpRef<mlir::ModuleOp>
      hopeless_; ///< The first one without a plan.
  /// Of a heavy step: what a device holds beside tensors, by the last plan that
  /// was measured.
  std::optional<int64_t> beside_;
  std::optional<int64_t> estimate_; ///< PlanReport::estimate.
  bool isHeavy_ = false;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RECOMPUTER_H
