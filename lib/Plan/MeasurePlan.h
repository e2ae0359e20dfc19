//===- MeasurePlan.h - What devices hold under a plan -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_MEASUREPLAN_H
#define DIVISI_LIB_PLAN_MEASUREPLAN_H

#include "MemoryViews.h"

#include "mlir/IR/OwningOpRef.h"

namespace divisi::plan {

/// `planned`, which has a plan for one stage, or for those of the size that
/// `options` are about, with all stages where they are; null where it cannot
/// have them. Without stages, as it is.
mlir::OwningOpRef<mlir::ModuleOp>
onStages(mlir::OwningOpRef<mlir::ModuleOp> planned, const PlanOptions &options);

/// Asks PlanOptions::measure about plans of one module that has none yet.
class PlanMeasurer {
public:
  /// Both must outlive it.
  PlanMeasurer(mlir::ModuleOp module, const PlanOptions &options)
      : module_(module), options_(options) {}

  /// Whether there is something to ask.
  bool isAble() const { return bool(options_.measure); }

  /// Whether it can tell what plans take with overlap.
  bool canSimulate() const { return bool(options_.simulate); }
  /// What a run of the plan `assignment` takes with overlap, in nanoseconds;
  /// nothing if that is not known.
  std::optional<int64_t>
  simulate(const PlanningInputs &inputs, const PlanningProblem &planning,
           const std::vector<uint32_t> &assignment) const;

  /// What devices of each kind hold under the plan of `fit`, on the grid of
  /// `inputs`: as measured, or, where that is not known or too much anyway, as
  /// planned.
  std::vector<HeldMemory> heldBy(const PlanningInputs &inputs,
                                 const FitOutcome &fit) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp>
  planned(const PlanningInputs &inputs, const PlanningProblem &planning,
          const std::vector<uint32_t> &assignment) const;

  mlir::ModuleOp module_;
  const PlanOptions &options_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_MEASUREPLAN_H
