//===- OpCost.cpp - What an operator costs on a device --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/OpCost.h"

#include "divisi/Support/ElementBytes.h"

#include <algorithm>
#include <cmath>

namespace divisi {

int64_t localBytes(const Grid &grid, const Layout &layout,
                   llvm::ArrayRef<int64_t> shape, int64_t elementBits) {
  // No box is larger than the tensor, whose bytes an int64_t counts.
  return *storedBytes(*checkedProduct(layout.localShape(grid, shape)),
                      elementBits);
}

bool isTable(const LoopNest &nest, const TensorMap &operand) {
  return llvm::any_of(operand.dims, [&](const DimMap &dim) {
    return llvm::any_of(dim.loops, [&](LoopId loop) {
      return nest.loop(loop).kind == LoopKind::Indexed;
    });
  });
}

static bool isView(const LoopNest &nest, const Grid &grid, const Split &split,
                   const OpProfile &profile) {
  return profile.isView && profile.isView(nest, grid, split);
}

/// Each box is read or written once: what caches save is part of the rate that
/// a device reaches.
static int64_t boxBytes(const LoopNest &nest, const Grid &grid,
                        const Split &split, const OpProfile &profile) {
  int64_t written = 0;
  for (unsigned i = 0; i != nest.results.size(); ++i) {
    written += localBytes(grid, resultLayout(nest, grid, split, i),
                          nest.results[i].shape, profile.results[i]);
  }
  int64_t moved = written;
  for (unsigned i = 0; i != nest.operands.size(); ++i) {
    int64_t read = localBytes(grid, operandLayout(nest, grid, split, i),
                              nest.operands[i].shape, profile.operands[i]);
    moved += isTable(nest, nest.operands[i]) ? std::min(read, written) : read;
  }
  return moved;
}

int64_t movedBytes(const LoopNest &nest, const Grid &grid, const Split &split,
                   const OpProfile &profile) {
  return isView(nest, grid, split, profile)
             ? 0
             : boxBytes(nest, grid, split, profile);
}

int64_t opNanoseconds(const LoopNest &nest, const Grid &grid,
                      const Split &split, const OpProfile &profile,
                      const DeviceKind &device) {
  if (isView(nest, grid, split, profile)) {
    return 0;
  }
  double compute =
      localFlops(nest, grid, split) / device.flopsPerSecond(profile.precision);
  double move = double(boxBytes(nest, grid, split, profile)) /
                device.memoryBytesPerSecond;
  return device.launchNanoseconds +
         int64_t(std::ceil(1e9 * std::max(compute, move)));
}

} // namespace divisi
