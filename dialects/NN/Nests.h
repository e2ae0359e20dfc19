//===- Nests.h - Parts that loop nests are made from ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NESTS_H
#define DIVISI_DIALECTS_NN_NESTS_H

#include "dialects/NN/NN.h"

namespace divisi::nn {

/// The nest of an elementwise operator: one parallel loop d0, d1, ... for each
/// dimension of the result; a broadcast dimension of an operand has none.
LoopNest
elementwiseNest(mlir::Operation *op, double flopsPerPoint,
                std::initializer_list<std::initializer_list<unsigned>> linear);

/// The nest of an operator from `x` to `y` of the same shape: one loop a
/// dimension; those of `axes` talk while they compute.
LoopNest exchangeNest(mlir::Value x, mlir::Value y,
                      llvm::ArrayRef<int64_t> axes, double flopsPerPoint);

/// Adds one loop d0, d1, ... for each entry of `shape`; returns their ids.
llvm::SmallVector<LoopId, 4> addLoops(LoopNest &nest,
                                      llvm::ArrayRef<int64_t> shape);

/// The map of a tensor of `type` whose dimension i is loop `loops[i]`.
TensorMap mapLoops(mlir::Type type, llvm::ArrayRef<LoopId> loops);

/// The dimension of `extent` whose index is loop*stride + [0, reach] - lo; a
/// plain loop if that is the identity.
DimMap windowMap(const LoopNest &nest, LoopId loop, int64_t extent,
                 int64_t stride, int64_t lo, int64_t reach);

/// The dimension of which iteration i of `loop` reads `reach(i)`. Nobody lists
/// these for a loop of more than 2^24 iterations: it is never split then.
DimMap tableMap(LoopNest &nest, LoopId loop,
                llvm::function_ref<Interval(int64_t)> reach);

/// Declares joint linearity in `operands`, unless the elements are booleans: a
/// partial sum of these does not exist.
void addLinear(LoopNest &nest, mlir::Type type,
               llvm::ArrayRef<unsigned> operands);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_NESTS_H
