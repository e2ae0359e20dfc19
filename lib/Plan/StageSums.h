//===- StageSums.h - Sums of several stages ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight that two stages read, such as a tied embedding, is a
// sum of what both make. Micro-batches would send their summands to the chunk
// of the weight one by one. So each chunk sums up its own, and these sums are
// added once:
//
//   %p = nn.add %a, %b {each}
//   %s = nn.add %zero, %p {each, takes 0, gives 0}
//   nn.update @w, %s
//   =>
//   %s = nn.add %zero, %a {each, takes 0, gives 0}
//   %t = nn.add %zero, %b {each, takes 1, gives 1}
//   %u = nn.add %s, %t
//   nn.update @w, %u
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_STAGESUMS_H
#define DIVISI_LIB_PLAN_STAGESUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace divisi::plan {

/// Gives a copy of an operator of a chunk the strategy that the operator has on
/// another one.
using MoveCopy = llvm::function_ref<void(mlir::Operation *copy,
                                         mlir::Operation *op, int64_t chunk)>;

/// Splits the sums of `entry`, whose operators are on `chunks`, which gets the
/// new ones. Chunks of one stage have one sum.
void splitSums(mlir::func::FuncOp entry,
               llvm::DenseMap<mlir::Operation *, int64_t> &chunks,
               llvm::ArrayRef<int64_t> stageOfChunk, MoveCopy move);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_STAGESUMS_H
