//===- PlanBranches.h - Branches on parts of the devices --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program is planned for all devices, and for the parts of them on which
// branches take less beside each other than one after the other
// (Stages/BranchPlanner.h). Each node takes its strategies from the plan for as
// many devices as it has:
//
//   --branch-parallel auto    plan for 4    s a b c d e t    s, t
//                             plan for 2    s a b c d e t    a b c; d e
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PLANBRANCHES_H
#define DIVISI_LIB_PLAN_PLANBRANCHES_H

#include "divisi/Plan/PlanModule.h"

namespace divisi::plan {

/// As planModule on one grid, or with branches on parts of it, if that takes
/// less with overlap (by the sum of times, where that is not known) and holds
/// no more than devices have.
Expected<PlanReport> planBranches(mlir::ModuleOp module,
                                  const PlanOptions &options);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PLANBRANCHES_H
