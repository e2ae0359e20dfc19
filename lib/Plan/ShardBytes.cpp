//===- ShardBytes.cpp - Bytes of the largest shard ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardBytes.h"

#include "dialects/NN/Shapes.h"
#include "dialects/SPMD/Strategy.h"

using namespace mlir;

namespace divisi::plan {

static int64_t shardBytes(RankedTensorType type, const Grid &grid,
                          const Layout &layout) {
  int64_t elements = 1;
  for (int64_t extent : layout.localShape(grid, type.getShape())) {
    elements *= extent;
  }
  return nn::byteCount(type).value_or(0) /
         std::max<int64_t>(type.getNumElements(), 1) * elements;
}

int64_t shardBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int64_t bytes = type ? nn::byteCount(type).value_or(0) : 0;
  auto maker = value.getDefiningOp<nn::LoopInterface>();
  if (bytes == 0 || !maker || !spmd::getSplit(maker)) {
    return bytes;
  }
  FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(maker);
  if (failed(strategy)) {
    return bytes;
  }
  Grid grid = strategy->grid.getValue();
  unsigned index = cast<OpResult>(value).getResultNumber();
  return shardBytes(type, grid,
                    resultLayout(strategy->nest, grid, strategy->split, index));
}

int64_t shardBytes(nn::GlobalOp global) {
  spmd::PlaceAttr place = spmd::getPlace(global);
  RankedTensorType type = global.getTensorType();
  FailureOr<spmd::ResolvedPlace> at =
      place ? spmd::requirePlace(global, place, type, "the global")
            : FailureOr<spmd::ResolvedPlace>();
  return failed(at) ? 0 : shardBytes(type, at->grid.getValue(), at->layout);
}

} // namespace divisi::plan
