//===- Nests.cpp - Parts that loop nests are made from --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Nests.h"

using namespace mlir;

namespace divisi::nn {

SmallVector<LoopId, 4> addLoops(LoopNest &nest, ArrayRef<int64_t> shape) {
  SmallVector<LoopId, 4> loops;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    loops.push_back(nest.add("d" + std::to_string(dim), extent));
  }
  return loops;
}

TensorMap mapLoops(Type type, ArrayRef<LoopId> loops) {
  TensorMap map;
  map.shape.assign(globalShape(type).begin(), globalShape(type).end());
  for (LoopId loop : loops) {
    map.dims.push_back(DimMap::loop(loop));
  }
  return map;
}

DimMap windowMap(const LoopNest &nest, LoopId loop, int64_t extent,
                 int64_t stride, int64_t lo, int64_t reach) {
  int64_t iterations = nest.loop(loop).extent;
  if (iterations <= 1) {
    // Such a stride says nothing and may be as large as an attribute can be.
    stride = 1;
  }
  if (stride == 1 && lo == 0 && reach == 0 && extent == iterations) {
    return DimMap::loop(loop);
  }
  return DimMap::window(loop, stride, lo, reach);
}

DimMap tableMap(LoopNest &nest, LoopId loop,
                llvm::function_ref<Interval(int64_t)> reach) {
  constexpr int64_t longest = int64_t(1) << 24;
  Loop &iterated = nest.loops[loop.index];
  if (iterated.extent > longest) {
    iterated.kind = LoopKind::Whole;
    return DimMap::none();
  }
  SmallVector<Interval> table;
  for (int64_t i = 0; i < iterated.extent; ++i) {
    table.push_back(reach(i));
  }
  return DimMap::tabulated(loop, table);
}

void addLinear(LoopNest &nest, Type type, ArrayRef<unsigned> operands) {
  if (hasSums(cast<RankedTensorType>(type).getElementType())) {
    nest.linear.emplace_back(operands.begin(), operands.end());
  }
}

/// An operand of an elementwise operator with result dimensions `loops`.
static TensorMap mapBroadcast(const LoopNest &nest, Type type,
                              ArrayRef<LoopId> loops) {
  TensorMap map = mapLoops(type, {});
  size_t lead = loops.size() - map.shape.size();
  for (auto [dim, extent] : llvm::enumerate(map.shape)) {
    LoopId loop = loops[lead + dim];
    map.dims.push_back(extent == nest.loop(loop).extent ? DimMap::loop(loop)
                                                        : DimMap::none());
  }
  return map;
}

/// Dimensions are aligned at the last, as in NumPy.
LoopNest
elementwiseNest(Operation *op, double flopsPerPoint,
                std::initializer_list<std::initializer_list<unsigned>> linear) {
  LoopNest nest;
  Type result = op->getResult(0).getType();
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(result));
  for (Type type : op->getOperandTypes()) {
    nest.operands.push_back(mapBroadcast(nest, type, loops));
  }
  nest.results.push_back(mapLoops(result, loops));
  for (std::initializer_list<unsigned> operands : linear) {
    addLinear(nest, result, operands);
  }
  nest.flopsPerPoint = flopsPerPoint;
  return nest;
}

LoopNest exchangeNest(Value x, Value y, ArrayRef<int64_t> axes,
                      double flopsPerPoint) {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(x.getType()));
  for (int64_t axis : axes) {
    nest.loops[axis].kind = LoopKind::Exchange;
  }
  nest.operands = {mapLoops(x.getType(), loops)};
  nest.results = {mapLoops(y.getType(), loops)};
  nest.flopsPerPoint = flopsPerPoint;
  return nest;
}

} // namespace divisi::nn
