//===- PresentPlan.h - The plan that a module has ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PRESENTPLAN_H
#define DIVISI_LIB_PLAN_PRESENTPLAN_H

#include "PlanningInputs.h"

namespace divisi::plan {

/// A plan as it was found or written, and what it was found by.
struct PresentPlan {
  PlanningInputs inputs; ///< Everything is open.
  PlanOptions options;   ///< With which it was found.
  Fixed present;         ///< The plan; whole if the module's is.
};

/// The plan of `module` for `cluster`. ExitCode::Usage for one on several
/// grids, Invalid for a module that cannot be read.
Expected<PresentPlan> readPlan(mlir::ModuleOp module, const Cluster &cluster);

/// What `present` is in the numbers of the problem; nothing if a part of it is
/// missing.
std::optional<std::vector<uint32_t>>
assignmentOf(const PlanningProblem &planning, const Fixed &present);

/// What to say of a plan without assignment. ExitCode::Invalid.
Status incompletePlan();

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PRESENTPLAN_H
