//===- Annotate.h - Reads and writes strategies in the IR -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_ANNOTATE_H
#define DIVISI_LIB_PLAN_ANNOTATE_H

#include "ProblemBuilder.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Plan/ModuleDataflow.h"

namespace divisi::plan {

/// Adds a grid, named @g unless that is taken, at the module's start.
spmd::GridOp createGrid(mlir::ModuleOp module, const Grid &grid,
                        llvm::ArrayRef<int64_t> devices = {});

/// The operands of operators that take their tensors from `stop`.
llvm::SmallVector<mlir::OpOperand *> usersOf(const ModuleDataflow &dataflow,
                                             unsigned stop);

/// The strategies and places that the program has already, all on `grid`.
/// Reports those that are wrong.
mlir::FailureOr<Fixed> readFixed(const ModuleDataflow &dataflow,
                                 spmd::GridOp grid);

/// Writes what `assignment` chose. Values with several users get a place only
/// if it differs from how they are made.
void annotate(const ModuleDataflow &dataflow, const PlanningProblem &planning,
              spmd::GridOp grid, const std::vector<uint32_t> &assignment);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_ANNOTATE_H
