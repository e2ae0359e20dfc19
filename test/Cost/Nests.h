//===- Nests.h - Loops of simple operators, for tests -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_COST_NESTS_H
#define DIVISI_TEST_COST_NESTS_H

#include "divisi/Layout/Loops.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi::test {

/// "bmk,bkn->bmn", or without b for a batch of 1. Loops m, n, k, b.
inline LoopNest product(int64_t rows, int64_t columns, int64_t sum,
                        int64_t batch = 1) {
  LoopNest nest;
  LoopId m = nest.add("m", rows), n = nest.add("n", columns);
  LoopId k = nest.add("k", sum, LoopKind::Reduction);
  nest.operands = {{{DimMap::loop(m), DimMap::loop(k)}, {rows, sum}},
                   {{DimMap::loop(k), DimMap::loop(n)}, {sum, columns}}};
  nest.results = {{{DimMap::loop(m), DimMap::loop(n)}, {rows, columns}}};
  if (batch != 1) {
    LoopId b = nest.add("b", batch);
    for (TensorMap *tensor :
         {&nest.operands[0], &nest.operands[1], &nest.results[0]}) {
      tensor->dims.insert(tensor->dims.begin(), DimMap::loop(b));
      tensor->shape.insert(tensor->shape.begin(), batch);
    }
  }
  nest.linear = {{0}, {1}};
  nest.flopsPerPoint = 2;
  return nest;
}

/// One image of `height` x `width`, 3 x 3 taps, padded by 1.
inline LoopNest convolution(int64_t height, int64_t width, int64_t channels,
                            int64_t features) {
  LoopNest nest;
  LoopId m = nest.add("m", features);
  LoopId c = nest.add("c", channels, LoopKind::Reduction);
  LoopId y = nest.add("o0", height), i = nest.add("k0", 3, LoopKind::Whole);
  LoopId x = nest.add("o1", width), j = nest.add("k1", 3, LoopKind::Whole);
  nest.operands = {
      {{DimMap::loop(c), DimMap::window(y, 1, 1, 2),
        DimMap::window(x, 1, 1, 2)},
       {channels, height, width}},
      {{DimMap::loop(m), DimMap::loop(c), DimMap::loop(i), DimMap::loop(j)},
       {features, channels, 3, 3}}};
  nest.results = {{{DimMap::loop(m), DimMap::loop(y), DimMap::loop(x)},
                   {features, height, width}}};
  nest.linear = {{0}, {1}};
  nest.flopsPerPoint = 2;
  return nest;
}

/// Of `operands` tensors of one shape, one operation per element.
inline LoopNest elementwise(llvm::ArrayRef<int64_t> shape,
                            unsigned operands = 1) {
  LoopNest nest;
  TensorMap tensor;
  for (auto [index, extent] : llvm::enumerate(shape)) {
    LoopId loop = nest.add("d" + std::to_string(index), extent);
    tensor.dims.push_back(DimMap::loop(loop));
    tensor.shape.push_back(extent);
  }
  nest.operands.assign(operands, tensor);
  nest.results = {tensor};
  nest.flopsPerPoint = 1;
  return nest;
}

} // namespace divisi::test

#endif // DIVISI_TEST_COST_NESTS_H
