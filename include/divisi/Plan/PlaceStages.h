//===- PlaceStages.h - Stages of a pipeline on sub-grids --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan on the grid of one stage becomes one on a grid for each stage:
//
//   spmd.grid @g (x = 2)                     spmd.grid @g0 (x = 2)
//   %h = nn.matmul … @g: n@x          ->     spmd.grid @g1 (x = 2) devices [2,
//   3] %y = nn.matmul … @g: k@x                 %h = nn.matmul … @g0: n@x
//                                            %y = nn.matmul … @g1: k@x
//
// All stages have equal sub-grids, so what an operator takes does not depend on
// its stage. Operators of one node of the model, with all that training derives
// from them and for all micro-batches, are on one stage; nodes are cut in the
// order of the program such that the slowest stage is as fast as it can be
// (Stages/StagePlanner.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_PLACESTAGES_H
#define DIVISI_PLAN_PLACESTAGES_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// Places what the plan in `module` has on its one grid on `stages` of that
/// size. Fails with Usage where the cluster has fewer devices, or the program
/// fewer nodes than stages.
Status placeStages(mlir::ModuleOp module, int64_t stages);

} // namespace divisi

#endif // DIVISI_PLAN_PLACESTAGES_H
