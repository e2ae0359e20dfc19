//===- Layout.h - How one tensor lies on one grid ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every position of the grid holds a *box* of the global tensor: per dimension
// one half-open interval of indices. A dimension is split over an ordered list
// of axes into as many intervals as these axes have positions:
//
//   10 rows over x=2, y=4, default bounds (ceil, nested from the outermost):
//     x=0: [0,5) -> [0,2) [2,4) [4,5) [5,5)    x=1: [5,10) -> [5,7) ...
//
//   10 rows over an axis with weights, x=4:[3,3,1,1], at rounded eighths:
//     [0,4) [4,8) [8,9) [9,10)
//
// Other bounds are said explicitly. They need not be equal and may overlap,
// which is all that a halo is: a convolution's operand whose shards reach one
// row into their neighbours has the bounds [0,5) [3,8) instead of [0,4) [4,8).
// Intervals never leave the tensor: a window's padding is not stored, the
// operator knows from its position that it stands at the border.
//
// Over *partial* axes every position holds a summand (or a factor, a maximum,
// ...) of the box, not the box itself. An axis either splits one dimension, or
// is partial, or replicates.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_LAYOUT_H
#define DIVISI_LAYOUT_LAYOUT_H

#include "divisi/Layout/Grid.h"

namespace divisi {

/// Half-open [begin, end), empty when begin == end.
struct Interval {
  int64_t begin = 0; ///< The first index in it.
  int64_t end = 0;   ///< The first behind it.

  /// How many indices it holds.
  int64_t size() const { return end - begin; }
  /// Whether it holds none.
  bool empty() const { return begin >= end; }
  friend bool operator==(Interval, Interval) = default;
  friend llvm::hash_code hash_value(Interval interval) {
    return llvm::hash_combine(interval.begin, interval.end);
  }
};

/// The common part of `a` and `b`; {0, 0} if there is none.
Interval intersect(Interval a, Interval b);

/// The positions of a grid whose coordinate along `axis` is in `coordinates`;
/// all of them if that is empty.
struct GridPart {
  AxisId axis;          ///< Of that grid.
  Interval coordinates; ///< Along it.

  /// How many they are.
  int64_t numPositions(const Grid &grid) const {
    int64_t all = grid.numPositions();
    return coordinates.empty() ? all
                               : all / grid.size(axis) * coordinates.size();
  }
};

/// How the partial values of a tensor combine into the value.
enum class ReduceKind : uint8_t { Sum, Prod, Max, Min, And, Or };
/// `sum`, `prod`, `max`, `min`, `and` or `or`.
llvm::StringRef stringifyReduceKind(ReduceKind kind);
/// The kind of that name; nothing if there is none.
std::optional<ReduceKind> parseReduceKind(llvm::StringRef name);

/// The split of `extent` over `axes`, nested from the outermost axis, with ceil
/// bounds, or by its weights, rounded: grid.product(axes) intervals in
/// shardIndex order. Without axes, the whole dimension.
llvm::SmallVector<Interval, 4> nestedShards(const Grid &grid, int64_t extent,
                                            llvm::ArrayRef<AxisId> axes);

/// The size of the largest of `shards`; 0 if there are none.
int64_t largestShard(llvm::ArrayRef<Interval> shards);

/// The size of the largest of nestedShards that a position of `part` has.
int64_t largestNested(const Grid &grid, int64_t extent,
                      llvm::ArrayRef<AxisId> axes, const GridPart &part = {});

/// One dimension of a layout.
struct DimLayout {
  /// The axes that split the dimension, outermost first; empty: not split.
  llvm::SmallVector<AxisId, 2> axes;
  /// Explicit bounds in shardIndex order, or empty for the default ones.
  /// Kept empty when they equal the default (Layout::canonicalize).
  llvm::SmallVector<Interval, 0> bounds;

  /// The intervals of a dimension of `extent`, explicit or default, in
  /// shardIndex order.
  llvm::SmallVector<Interval, 4> shards(const Grid &grid, int64_t extent) const;

  /// The size of the largest of them, of those that `part` holds.
  int64_t largest(const Grid &grid, int64_t extent,
                  const GridPart &part = {}) const;

  friend bool operator==(const DimLayout &, const DimLayout &) = default;
  friend llvm::hash_code hash_value(const DimLayout &dim) {
    return llvm::hash_combine(
        llvm::hash_combine_range(dim.axes.begin(), dim.axes.end()),
        llvm::hash_combine_range(dim.bounds.begin(), dim.bounds.end()));
  }
};

/// The layout of a tensor on a grid; a value type. See the file's head.
struct Layout {
  llvm::SmallVector<DimLayout, 4> dims; ///< One per dimension.
  /// Ascending; disjoint from all axes in `dims`.
  llvm::SmallVector<AxisId, 2> partialAxes;
  /// Sum when `partialAxes` is empty.
  ReduceKind partialKind = ReduceKind::Sum;

  /// Everything everywhere.
  static Layout replicated(size_t rank);

  /// Whether positions hold summands, not values.
  bool isPartial() const { return !partialAxes.empty(); }
  /// Whether every position holds everything.
  bool isReplicated() const;
  /// The number of dimensions.
  size_t rank() const { return dims.size(); }

  /// The axes that split a dimension or are partial, ascending.
  llvm::SmallVector<AxisId, 4> usedAxes() const;

  /// All intervals of dimension `dim` of a tensor of that dimension's `extent`,
  /// explicit or default.
  llvm::SmallVector<Interval, 4> shards(const Grid &grid, size_t dim,
                                        int64_t extent) const;

  /// The box that `position` holds of a tensor of `shape`.
  llvm::SmallVector<Interval, 4>
  box(const Grid &grid, llvm::ArrayRef<int64_t> shape, int64_t position) const;

  /// Per dimension the largest shard: the shape to allocate everywhere, or on
  /// the positions of `part`.
  llvm::SmallVector<int64_t, 4> localShape(const Grid &grid,
                                           llvm::ArrayRef<int64_t> shape,
                                           const GridPart &part = {}) const;

  /// Brings a legal layout into the one form that equal layouts share: drops
  /// axes of size 1 (a dimension that nothing else splits is held whole),
  /// explicit bounds that equal the default ones, and the axes
  /// of a dimension whose every shard is the whole of it; writes empty explicit
  /// intervals as 0:0; sorts partialAxes.
  void canonicalize(const Grid &grid, llvm::ArrayRef<int64_t> shape);

  /// What is wrong with this layout for a tensor of `shape` on `grid`, as a
  /// message, or nothing: rank, unknown axis, an axis used twice, number of
  /// bounds, bounds outside the tensor. Bounds may leave an index to nobody:
  /// an operand that is read with a stride has no use for some.
  std::optional<std::string> verify(const Grid &grid,
                                    llvm::ArrayRef<int64_t> shape) const;

  /// Which index of which dimension a layout that verifies leaves to nobody,
  /// as a message, or nothing. Results and values at rest must be covered.
  std::optional<std::string>
  verifyCoverage(const Grid &grid, llvm::ArrayRef<int64_t> shape) const;

  /// Prints `[x.y, *, z{0:5, 3:8}]` and ` partial sum {w}` if it is.
  void print(llvm::raw_ostream &os, const Grid &grid) const;
  /// The same as a string.
  std::string str(const Grid &grid) const;

  friend bool operator==(const Layout &, const Layout &) = default;
  friend llvm::hash_code hash_value(const Layout &layout) {
    return llvm::hash_combine(
        llvm::hash_combine_range(layout.dims.begin(), layout.dims.end()),
        llvm::hash_combine_range(layout.partialAxes.begin(),
                                 layout.partialAxes.end()),
        layout.partialKind);
  }
};

} // namespace divisi

#endif // DIVISI_LAYOUT_LAYOUT_H
