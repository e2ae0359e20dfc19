//===- Tiles.cpp - Products in tiles and waves ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiles.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace divisi {

namespace {
/// What the fullest device makes of a product: `batch` matrices.
struct Product {
  double batch = 1, rows = 1, columns = 1;
};
} // namespace

/// Nothing if the operator is no product: linear in each of two operands, and
/// summed over something.
static std::optional<Product> productOf(const LoopNest &nest, const Grid &grid,
                                        const Split &split,
                                        const GridPart &part) {
  if (nest.linear.size() < 2) {
    return std::nullopt;
  }
  const TensorMap &left = nest.operands[nest.linear[0].front()];
  const TensorMap &right = nest.operands[nest.linear[1].front()];
  Product product;
  bool isSummed = false;
  for (uint32_t index = 0; index != nest.loops.size(); ++index) {
    LoopId loop{index};
    if (!nest.results.front().mentions(loop)) {
      isSummed |= nest.loop(loop).kind == LoopKind::Reduction;
      continue;
    }
    bool isLeft = left.mentions(loop), isRight = right.mentions(loop);
    double &extent = isLeft == isRight ? product.batch
                     : isLeft          ? product.rows
                                       : product.columns;
    extent *= double(largestShard(nest, grid, split, loop, part));
  }
  return isSummed ? std::optional(product) : std::nullopt;
}

double tiledFlops(const LoopNest &nest, const Grid &grid, const Split &split,
                  const DeviceKind &device, const GridPart &part) {
  double flops = localFlops(nest, grid, split, part);
  std::optional<Product> product = productOf(nest, grid, split, part);
  if (device.multiprocessors == 0 || flops == 0 || !product ||
      product->rows == 1 || product->columns == 1) {
    return flops;
  }
  double edge = double(device.tileEdge);
  double atATime = double(device.multiprocessors);
  double tiles = product->batch * std::ceil(product->rows / edge) *
                 std::ceil(product->columns / edge);
  double waves = std::ceil(tiles / atATime);
  double sharers = std::max(1.0, std::floor(atATime / tiles));
  // Operations for one element; a part of a sum has 512 products at least.
  constexpr double kLeastPart = 2 * 512;
  double element = flops / (product->batch * product->rows * product->columns);
  double busy = std::max(element / sharers, std::min(element, kLeastPart));
  return std::max(flops, waves * atATime * edge * edge * busy);
}

} // namespace divisi
