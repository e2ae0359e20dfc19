//===- Layout.cpp - How one tensor lies on one grid -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Layout/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace divisi {

/// The names of the kinds, in the order of the enum.
static constexpr StringLiteral reduceKindNames[] = {"sum", "prod", "max",
                                                    "min", "and",  "or"};

StringRef stringifyReduceKind(ReduceKind kind) {
  return reduceKindNames[size_t(kind)];
}

std::optional<ReduceKind> parseReduceKind(StringRef name) {
  for (auto [index, kindName] : enumerate(reduceKindNames)) {
    if (name == kindName) {
      return ReduceKind(index);
    }
  }
  return std::nullopt;
}

Interval intersect(Interval a, Interval b) {
  Interval common = {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return common.empty() ? Interval() : common;
}

static void splitEvenly(Interval whole, int64_t parts,
                        SmallVectorImpl<Interval> &shards) {
  int64_t length = llvm::divideCeil(whole.size(), parts);
  int64_t begin = whole.begin;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t end = begin + std::min(length, whole.end - begin);
    shards.push_back({begin, end});
    begin = end;
  }
}

/// Bounds are where the sum of weights says, rounded to the nearest.
static void splitByWeight(Interval whole, ArrayRef<int64_t> weights,
                          SmallVectorImpl<Interval> &shards) {
  int64_t all = llvm::sum_of(weights, int64_t(0));
  int64_t begin = whole.begin, reached = 0;
  for (int64_t weight : weights) {
    reached += weight;
    int64_t end = whole.begin +
                  int64_t((__int128(whole.size()) * reached + all / 2) / all);
    shards.push_back({begin, end});
    begin = end;
  }
}

/// Splits every interval so far again, so shards of equal prefixes of
/// coordinates are neighbours.
SmallVector<Interval, 4> nestedShards(const Grid &grid, int64_t extent,
                                      ArrayRef<AxisId> axes) {
  SmallVector<Interval, 4> shards = {{0, extent}};
  for (AxisId axis : axes) {
    ArrayRef<int64_t> weights = grid.axes()[axis.index].weights;
    SmallVector<Interval, 4> finer;
    for (Interval shard : shards) {
      if (weights.empty()) {
        splitEvenly(shard, grid.size(axis), finer);
      } else {
        splitByWeight(shard, weights, finer);
      }
    }
    shards = std::move(finer);
  }
  return shards;
}

int64_t largestShard(ArrayRef<Interval> shards) {
  int64_t size = 0;
  for (Interval shard : shards) {
    size = std::max(size, shard.size());
  }
  return size;
}

/// Of `shards` over `axes`, in shardIndex order.
static int64_t largestIn(const Grid &grid, ArrayRef<Interval> shards,
                         ArrayRef<AxisId> axes, const GridPart &part) {
  const AxisId *found = llvm::find(axes, part.axis);
  if (part.coordinates.empty() || found == axes.end()) {
    return largestShard(shards);
  }
  int64_t inner = grid.product({found + 1, axes.end()});
  int64_t size = 0;
  for (auto [index, shard] : enumerate(shards)) {
    int64_t coordinate = int64_t(index) / inner % grid.size(part.axis);
    if (coordinate >= part.coordinates.begin &&
        coordinate < part.coordinates.end) {
      size = std::max(size, shard.size());
    }
  }
  return size;
}

/// Of nested ceil bounds the first is the largest.
int64_t largestNested(const Grid &grid, int64_t extent, ArrayRef<AxisId> axes,
                      const GridPart &part) {
  if (part.coordinates.empty() && !grid.isWeighted(axes)) {
    return llvm::divideCeil(extent, grid.product(axes));
  }
  return largestIn(grid, nestedShards(grid, extent, axes), axes, part);
}

SmallVector<Interval, 4> DimLayout::shards(const Grid &grid,
                                           int64_t extent) const {
  return bounds.empty() ? nestedShards(grid, extent, axes)
                        : llvm::to_vector<4>(bounds);
}

int64_t DimLayout::largest(const Grid &grid, int64_t extent,
                           const GridPart &part) const {
  return bounds.empty() ? largestNested(grid, extent, axes, part)
                        : largestIn(grid, bounds, axes, part);
}

Layout Layout::replicated(size_t rank) {
  Layout layout;
  layout.dims.resize(rank);
  return layout;
}

bool Layout::isReplicated() const {
  return !isPartial() &&
         all_of(dims, [](const DimLayout &dim) { return dim.axes.empty(); });
}

SmallVector<AxisId, 4> Layout::usedAxes() const {
  SmallVector<AxisId, 4> used = llvm::to_vector<4>(partialAxes);
  for (const DimLayout &dim : dims) {
    append_range(used, dim.axes);
  }
  llvm::sort(used);
  return used;
}

SmallVector<Interval, 4> Layout::shards(const Grid &grid, size_t dim,
                                        int64_t extent) const {
  return dims[dim].shards(grid, extent);
}

SmallVector<Interval, 4> Layout::box(const Grid &grid, ArrayRef<int64_t> shape,
                                     int64_t position) const {
  SmallVector<Interval, 4> result;
  for (auto [index, dim] : enumerate(dims)) {
    result.push_back(
        shards(grid, index, shape[index])[grid.shardIndex(position, dim.axes)]);
  }
  return result;
}

SmallVector<int64_t, 4> Layout::localShape(const Grid &grid,
                                           ArrayRef<int64_t> shape,
                                           const GridPart &part) const {
  SmallVector<int64_t, 4> result;
  for (size_t dim = 0; dim < rank(); ++dim) {
    result.push_back(dims[dim].largest(grid, shape[dim], part));
  }
  return result;
}

/// Whether two lists of bounds hold the same indices; where an empty interval
/// stands does not matter.
static bool holdTheSame(ArrayRef<Interval> a, ArrayRef<Interval> b) {
  return llvm::equal(a, b, [](Interval left, Interval right) {
    return left == right || (left.empty() && right.empty());
  });
}

static void canonicalizeDim(const Grid &grid, int64_t extent, DimLayout &dim) {
  // An axis of size 1 has no influence on the shardIndex of the others.
  erase_if(dim.axes, [&](AxisId axis) { return grid.size(axis) == 1; });
  if (dim.axes.empty()) {
    dim.bounds.clear();
  }
  if (dim.bounds.empty()) {
    return;
  }
  if (holdTheSame(dim.bounds, nestedShards(grid, extent, dim.axes))) {
    dim.bounds.clear();
    return;
  }
  if (all_equal(dim.bounds) && dim.bounds.front() == Interval{0, extent}) {
    dim.axes.clear();
    dim.bounds.clear();
    return;
  }
  for (Interval &bound : dim.bounds) {
    if (bound.empty()) {
      bound = {};
    }
  }
}

void Layout::canonicalize(const Grid &grid, ArrayRef<int64_t> shape) {
  for (auto [extent, dim] : zip_equal(shape, dims)) {
    canonicalizeDim(grid, extent, dim);
  }
  erase_if(partialAxes, [&](AxisId axis) { return grid.size(axis) == 1; });
  llvm::sort(partialAxes);
  if (partialAxes.empty()) {
    partialKind = ReduceKind::Sum;
  }
}

static std::optional<std::string> verifyAxes(const Grid &grid,
                                             ArrayRef<AxisId> axes,
                                             SmallVectorImpl<bool> &used,
                                             const Twine &where) {
  for (AxisId axis : axes) {
    if (axis.index >= grid.numAxes()) {
      return (where + " uses axis number " + Twine(axis.index) +
              " of a grid with " + Twine(grid.numAxes()) + " axes")
          .str();
    }
    if (used[axis.index]) {
      return (where + " uses the axis '" + grid.name(axis) +
              "' which is in use already; an axis splits one dimension or is "
              "partial")
          .str();
    }
    used[axis.index] = true;
  }
  return std::nullopt;
}

static std::optional<std::string> verifyBounds(const Grid &grid, size_t index,
                                               int64_t extent,
                                               const DimLayout &dim) {
  if (dim.bounds.empty()) {
    return std::nullopt;
  }
  if (dim.axes.empty()) {
    return ("dimension " + Twine(index) + " has bounds but no axis splits it")
        .str();
  }
  int64_t expected = grid.product(dim.axes);
  if (int64_t(dim.bounds.size()) != expected) {
    return ("dimension " + Twine(index) + " has " + Twine(dim.bounds.size()) +
            " bounds, expected " + Twine(expected) +
            ", one per position along its axes")
        .str();
  }
  for (Interval bound : dim.bounds) {
    if (bound.begin < 0 || bound.end < bound.begin || bound.end > extent) {
      return ("bounds " + Twine(bound.begin) + ":" + Twine(bound.end) +
              " of dimension " + Twine(index) +
              " are not an interval within 0:" + Twine(extent))
          .str();
    }
  }
  return std::nullopt;
}

/// Axes first: the number of bounds that a dimension needs follows from them.
std::optional<std::string> Layout::verify(const Grid &grid,
                                          ArrayRef<int64_t> shape) const {
  if (rank() != shape.size()) {
    return ("the layout has " + Twine(rank()) + " dimensions, expected " +
            Twine(shape.size()) + " as the tensor has")
        .str();
  }
  SmallVector<bool> used(grid.numAxes(), false);
  for (auto [index, dim] : enumerate(dims)) {
    if (auto error =
            verifyAxes(grid, dim.axes, used, "dimension " + Twine(index))) {
      return error;
    }
    if (auto error = verifyBounds(grid, index, shape[index], dim)) {
      return error;
    }
  }
  return verifyAxes(grid, partialAxes, used, "the partial set");
}

std::optional<std::string>
Layout::verifyCoverage(const Grid &grid, ArrayRef<int64_t> shape) const {
  for (auto [index, dim] : enumerate(dims)) {
    SmallVector<Interval, 4> sorted = llvm::to_vector<4>(dim.bounds);
    llvm::sort(sorted,
               [](Interval a, Interval b) { return a.begin < b.begin; });
    int64_t covered = dim.bounds.empty() ? shape[index] : 0;
    for (Interval bound : sorted) {
      if (bound.begin > covered) {
        break;
      }
      covered = std::max(covered, bound.end);
    }
    if (covered < shape[index]) {
      return ("the bounds of dimension " + Twine(index) + " leave index " +
              Twine(covered) + " to no position")
          .str();
    }
  }
  return std::nullopt;
}

static void printAxes(raw_ostream &os, const Grid &grid, ArrayRef<AxisId> axes,
                      StringRef separator) {
  interleave(axes, os, [&](AxisId axis) { os << grid.name(axis); }, separator);
}

void Layout::print(raw_ostream &os, const Grid &grid) const {
  os << '[';
  interleaveComma(dims, os, [&](const DimLayout &dim) {
    if (dim.axes.empty()) {
      os << '*';
      return;
    }
    printAxes(os, grid, dim.axes, ".");
    if (!dim.bounds.empty()) {
      os << '{';
      interleaveComma(dim.bounds, os, [&](Interval bound) {
        os << bound.begin << ':' << bound.end;
      });
      os << '}';
    }
  });
  os << ']';
  if (isPartial()) {
    os << " partial " << stringifyReduceKind(partialKind) << " {";
    printAxes(os, grid, partialAxes, ", ");
    os << '}';
  }
}

std::string Layout::str(const Grid &grid) const {
  std::string text;
  raw_string_ostream os(text);
  print(os, grid);
  return text;
}

} // namespace divisi
