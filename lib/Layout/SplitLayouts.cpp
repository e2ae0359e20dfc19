//===- SplitLayouts.cpp - What follows from a split -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/Loops.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace divisi {

SmallVector<Interval, 4> loopShards(const LoopNest &nest, const Grid &grid,
                                    const Split &split, LoopId loop) {
  return nestedShards(grid, nest.loop(loop).extent, split.loopAxes[loop.index]);
}

double localFlops(const LoopNest &nest, const Grid &grid, const Split &split,
                  const GridPart &part) {
  // Every axis splits at most one loop, so some position of the part has the
  // largest shard of all of them.
  double count = nest.flopsPerPoint;
  for (size_t index = 0; index < nest.loops.size(); ++index) {
    count *=
        double(largestShard(nest, grid, split, LoopId{uint32_t(index)}, part));
  }
  return count;
}

/// The indices of a product of loops: the major ones stand at single
/// iterations, so what a position holds is contiguous.
static SmallVector<Interval, 0> productBounds(const LoopNest &nest,
                                              const Grid &grid,
                                              const Split &split,
                                              ArrayRef<LoopId> loops) {
  // With no loop in it the dimension has one index, and it is held.
  SmallVector<Interval, 0> bounds = {{0, 1}};
  for (LoopId loop : loops) {
    int64_t extent = nest.loop(loop).extent;
    SmallVector<Interval, 4> shards = loopShards(nest, grid, split, loop);
    SmallVector<Interval, 0> finer;
    for (Interval major : bounds) {
      for (Interval shard : shards) {
        if (major.empty() || shard.empty()) {
          finer.push_back({});
        } else {
          finer.push_back({major.begin * extent + shard.begin,
                           (major.end - 1) * extent + shard.end});
        }
      }
    }
    bounds = std::move(finer);
  }
  return bounds;
}

/// `value` brought into [0, extent].
static int64_t clip(__int128 value, int64_t extent) {
  return value < 0 ? 0 : value > extent ? extent : int64_t(value);
}

static Interval windowBound(const DimMap &dim, int64_t extent, Interval shard) {
  // Attributes come from files; 128 bits hold every product of two of them.
  __int128 first = __int128(shard.begin) * dim.stride;
  __int128 last = __int128(shard.end - 1) * dim.stride;
  return {clip(std::min(first, last) - dim.lo, extent),
          clip(std::max(first, last) - dim.lo + dim.reach + 1, extent)};
}

static Interval tableBound(const DimMap &dim, Interval shard) {
  std::optional<Interval> hull;
  for (int64_t row = shard.begin; row < shard.end; ++row) {
    Interval reach = dim.table[row];
    if (reach.empty()) {
      continue;
    }
    hull = hull ? Interval{std::min(hull->begin, reach.begin),
                           std::max(hull->end, reach.end)}
                : reach;
  }
  return hull.value_or(Interval());
}

/// Bounds are written out even where they are the default ones: canonicalize
/// drops those.
static DimLayout dimLayout(const LoopNest &nest, const Grid &grid,
                           const Split &split, const DimMap &dim,
                           int64_t extent) {
  DimLayout layout;
  for (LoopId loop : dim.loops) {
    append_range(layout.axes, split.loopAxes[loop.index]);
  }
  if (layout.axes.empty()) {
    return layout;
  }
  if (dim.kind == DimMap::Kind::Product) {
    layout.bounds = productBounds(nest, grid, split, dim.loops);
    return layout;
  }
  for (Interval shard : loopShards(nest, grid, split, dim.loops[0])) {
    Interval bound;
    if (!shard.empty()) {
      bound = dim.kind == DimMap::Kind::Window ? windowBound(dim, extent, shard)
                                               : tableBound(dim, shard);
    }
    layout.bounds.push_back(bound.empty() ? Interval() : bound);
  }
  return layout;
}

static Layout tensorLayout(const LoopNest &nest, const Grid &grid,
                           const Split &split, const TensorMap &tensor) {
  Layout layout;
  for (auto [dim, extent] : zip_equal(tensor.dims, tensor.shape)) {
    layout.dims.push_back(dimLayout(nest, grid, split, dim, extent));
  }
  return layout;
}

Layout operandLayout(const LoopNest &nest, const Grid &grid, const Split &split,
                     unsigned index) {
  const TensorMap &tensor = nest.operands[index];
  Layout layout = tensorLayout(nest, grid, split, tensor);
  if (!split.carryAxes.empty() &&
      is_contained(nest.linear[split.carrySet], index)) {
    layout.partialAxes = split.carryAxes;
  }
  layout.canonicalize(grid, tensor.shape);
  return layout;
}

Layout resultLayout(const LoopNest &nest, const Grid &grid, const Split &split,
                    unsigned index) {
  const TensorMap &tensor = nest.results[index];
  Layout layout = tensorLayout(nest, grid, split, tensor);
  layout.partialAxes = split.carryAxes;
  for (auto [id, loop] : enumerate(nest.loops)) {
    // A loop that this result has as a dimension splits it.
    LoopId loopId{uint32_t(id)};
    if (loop.leavesPartial() && split.splits(grid, loopId) &&
        !tensor.mentions(loopId)) {
      append_range(layout.partialAxes, split.loopAxes[id]);
      layout.partialKind = loop.reduce;
    }
  }
  layout.canonicalize(grid, tensor.shape);
  return layout;
}

} // namespace divisi
