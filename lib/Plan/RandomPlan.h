//===- RandomPlan.h - A legal plan, drawn at random -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: whatever a plan may say, the partitioned program must compute the
// same. So grids overlap in every way that is allowed (the same devices with
// other axes, halves, one device against the rest), operators move between
// them, nearly everything that can be split is, and values rest anywhere. In a
// pipeline that holds within each stage (RandomStages.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RANDOMPLAN_H
#define DIVISI_LIB_PLAN_RANDOMPLAN_H

#include "divisi/Plan/PlanModule.h"

namespace divisi::plan {

/// Annotates `module` with a plan drawn from `options.seed` for
/// `options.grid.devices` devices. The report's costs are 0.
Expected<PlanReport> planAtRandom(mlir::ModuleOp module,
                                  const PlanOptions &options);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RANDOMPLAN_H
