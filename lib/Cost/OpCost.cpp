//===- OpCost.cpp - What an operator costs on a device --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/OpCost.h"

#include "Tiles.h"
#include "divisi/Cost/Arithmetic.h"
#include "divisi/Support/CheckedMath.h"
#include "divisi/Support/ElementBytes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace divisi {

int64_t localBytes(const Grid &grid, const Layout &layout,
                   llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                   const GridPart &part) {
  // No box is larger than the tensor, whose bytes an int64_t counts.
  return *storedBytes(*checkedProduct(layout.localShape(grid, shape, part)),
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

/// The shape of what `operand` is read of: a slice reads what it keeps. Of the
/// last dim all between the first and the last index, as memory comes by lines.
static llvm::SmallVector<int64_t, 4> readShape(const LoopNest &nest,
                                               const TensorMap &operand) {
  llvm::SmallVector<int64_t, 4> shape = operand.shape;
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    if (dim.kind != DimMap::Kind::Window) {
      continue;
    }
    bool isLast = i + 1 == operand.dims.size();
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    int64_t window = std::min(dim.reach, most - 1) + 1;
    int64_t stride = std::abs(std::max(dim.stride, -most));
    int64_t steps = nest.loop(dim.loops.front()).extent;
    int64_t apart = isLast ? stride : std::min(stride, window);
    std::optional<int64_t> read = checkedMul(steps - 1, apart);
    if (steps > 0 && read && *read < shape[i]) {
      shape[i] = *read + std::min(shape[i] - *read, window);
    }
  }
  return shape;
}

/// Each box is read or written once: what caches save is part of the rate that
/// a device reaches.
static int64_t boxBytes(const LoopNest &nest, const Grid &grid,
                        const Split &split, const OpProfile &profile,
                        const FusedEnds &fused, const GridPart &part) {
  int64_t made = 0, moved = 0;
  for (unsigned i = 0; i != nest.results.size(); ++i) {
    int64_t written =
        localBytes(grid, resultLayout(nest, grid, split, i),
                   nest.results[i].shape, profile.results[i], part);
    made += written;
    moved += llvm::is_contained(fused.results, i) ? 0 : written;
  }
  for (unsigned i = 0; i != nest.operands.size(); ++i) {
    if (llvm::is_contained(fused.operands, i)) {
      continue;
    }
    int64_t read = localBytes(grid, operandLayout(nest, grid, split, i),
                              readShape(nest, nest.operands[i]),
                              profile.operands[i], part);
    moved += isTable(nest, nest.operands[i]) ? std::min(read, made) : read;
  }
  return moved;
}

int64_t movedBytes(const LoopNest &nest, const Grid &grid, const Split &split,
                   const OpProfile &profile, const FusedEnds &fused) {
  return isView(nest, grid, split, profile)
             ? 0
             : boxBytes(nest, grid, split, profile, fused, {});
}

int64_t opNanoseconds(const LoopNest &nest, const Grid &grid,
                      const Split &split, const OpProfile &profile,
                      const GridPace &pace, const FusedEnds &fused) {
  if (isView(nest, grid, split, profile)) {
    return 0;
  }
  int64_t longest = 0;
  double share = vectorShare(nest);
  for (const auto &[kind, part] : pace.parts) {
    double compute =
        arithmeticSeconds(tiledFlops(nest, grid, split, kind, part), share,
                          kind.flopsPerSecond(profile.precision),
                          kind.vectorRate(profile.precision));
    double move = double(boxBytes(nest, grid, split, profile, fused, part)) /
                  kind.memoryBytesPerSecond;
    int64_t launch = fused.operands.empty() ? kind.launchNanoseconds : 0;
    if (kind.productLaunchNanoseconds > 0) {
      launch += kind.productLaunchNanoseconds *
                startedProducts(nest, grid, split, part);
    }
    longest = std::max(
        longest, launch + int64_t(std::ceil(1e9 * std::max(compute, move))));
  }
  return longest;
}

OpTime opTime(const LoopNest &nest, const Grid &grid, const Split &split,
              const OpProfile &profile, const GridPace &pace,
              const FusedEnds &fusible) {
  auto timeWith = [&](const FusedEnds &fused) {
    return opNanoseconds(nest, grid, split, profile, pace, fused);
  };
  // Most operators have at most one such end.
  int64_t all = timeWith(fusible);
  int64_t written =
      fusible.results.empty() ? all : timeWith({.operands = fusible.operands});
  int64_t apart = fusible.operands.empty() ? written : timeWith({});
  return {all, written - all, apart - written};
}

} // namespace divisi
