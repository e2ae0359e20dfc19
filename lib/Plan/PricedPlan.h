//===- PricedPlan.h - What a plan takes -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PRICEDPLAN_H
#define DIVISI_LIB_PLAN_PRICEDPLAN_H

#include "PresentPlan.h"

namespace divisi::plan {

/// A plan in a module, as one that can be priced.
struct PricedPlan {
  PresentPlan plan;                 ///< As it is read.
  PlanningProblem planning;         ///< In which nothing is open.
  std::vector<uint32_t> assignment; ///< Of it.
  search::Solution solution;        ///< What the plan takes.
};

/// Prices the plan in `module`. Fails as readPlan.
Expected<PricedPlan> pricePlan(mlir::ModuleOp module);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PRICEDPLAN_H
