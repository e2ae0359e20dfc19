//===- RecomputePlan.h - Plans that compute again ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Strategies and what is computed again depend on each other through memory, so
// they are searched in turn:
//
//   1. the plan without a limit; if it fits, it is the answer
//   2. the plan within the limit that computes nothing again
//   3. at the strategies of 1: what to compute again, within the limit
//   4. the plan within the limit that computes everything again
//   5. at the strategies of 4: what to compute again, within the limit
//
// 3 and 5 are RecomputeProblem, solved to proof; the fastest plan that fits is
// the answer. As computing again only takes time, the bound of 1 is one of all
// plans, whatever they compute again; where 1 is not made, as not even the
// globals would fit, the bound is of plans that compute nothing again.
//
// A large step of which not even the globals fit on a device is planned on few
// grids and few times (RecomputeHeavy.cpp): instead of 1, with memory for
// nothing but globals, once for the bound, and within parts of the limit for
// strategies that leave room; 4 and 5 only where 3 finds nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RECOMPUTEPLAN_H
#define DIVISI_LIB_PLAN_RECOMPUTEPLAN_H

#include "divisi/Plan/PlanModule.h"

namespace divisi::plan {

/// Whether `options` let `module` compute again: a training step without a
/// plan.
bool mayRecompute(mlir::ModuleOp module, const PlanOptions &options);

/// As planOnce, of a module of which mayRecompute() holds.
Expected<PlanReport> planRecomputing(mlir::ModuleOp module,
                                     const PlanOptions &options);

/// As planModule, of a solver of the search: computes nothing again.
Expected<PlanReport> planOnce(mlir::ModuleOp module,
                              const PlanOptions &options);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RECOMPUTEPLAN_H
