//===- Grid.h - Named axes of devices ---------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grid arranges devices along named axes, the outermost first:
//
//   (data=2, model=3)   position 4 has the coordinates data=1, model=1
//
// Where devices are not equally fast, the positions along an axis may have
// weights: of what is split over (x=2:[3,1]), x=0 gets three quarters.
//
// Axes are as fine as is useful (8 devices as 2·2·2), because a dimension can
// be split over any ordered list of them. Which devices stand at which position
// is said by `spmd.grid`; everything in this room speaks of positions.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_GRID_H
#define DIVISI_LAYOUT_GRID_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace divisi {

/// An axis of a grid, by its place in Grid::axes(). Strong, because a swapped
/// axis and dimension is the typical sharding bug.
struct AxisId {
  uint32_t index = 0; ///< In Grid::axes().
  friend bool operator==(AxisId, AxisId) = default;
  friend auto operator<=>(AxisId, AxisId) = default;
  friend llvm::hash_code hash_value(AxisId axis) {
    return llvm::hash_value(axis.index);
  }
};

/// One axis: a name that is unique in its grid, and a size of at least 1.
struct GridAxis {
  std::string name; ///< As strategies and places say it.
  int64_t size = 1; ///< How many positions there are along it.
  /// What each position gets of a whole, in parts of their sum; empty: all get
  /// the same. A grid keeps them without common factors, and none if all are
  /// equal.
  llvm::SmallVector<int64_t, 0> weights = {};

  /// `4`, or with weights `4:[3,3,1,1]`.
  std::string sizeText() const;
  friend bool operator==(const GridAxis &, const GridAxis &) = default;
  friend llvm::hash_code hash_value(const GridAxis &axis) {
    return llvm::hash_combine(
        axis.name, axis.size,
        llvm::hash_combine_range(axis.weights.begin(), axis.weights.end()));
  }
};

/// Named axes, outermost first. A value type; no axes mean one position.
class Grid {
public:
  Grid() = default;
  /// Of any axes; verify() says whether they make a legal grid.
  explicit Grid(llvm::ArrayRef<GridAxis> axes);

  /// All axes, outermost first.
  llvm::ArrayRef<GridAxis> axes() const { return axes_; }
  /// How many there are.
  size_t numAxes() const { return axes_.size(); }
  /// The size of one axis.
  int64_t size(AxisId axis) const { return axes_[axis.index].size; }
  /// Its name, owned by the grid.
  llvm::StringRef name(AxisId axis) const { return axes_[axis.index].name; }

  /// The most positions that a legal grid has.
  static constexpr int64_t maxPositions = 1 << 16;
  /// The most that the weight of a position is.
  static constexpr int64_t maxWeight = 1024;

  /// What is wrong with this grid, as a message, or nothing: an empty or
  /// repeated name, a size below 1, more than maxPositions positions, not one
  /// weight for each or one that is not from 1 to maxWeight. All that follows,
  /// in the whole room, asks for a grid that verifies.
  std::optional<std::string> verify() const;

  /// The number of positions: the product of all sizes.
  int64_t numPositions() const;

  /// The product of the sizes of `axes`.
  int64_t product(llvm::ArrayRef<AxisId> axes) const;

  /// Whether any of `axes` has weights.
  bool isWeighted(llvm::ArrayRef<AxisId> axes) const;

  /// The axis called `name`, if there is one.
  std::optional<AxisId> find(llvm::StringRef name) const;

  /// The coordinate along every axis of `position` (row-major).
  llvm::SmallVector<int64_t, 4> coordinates(int64_t position) const;

  /// The index of `position` in the mixed radix formed by `axes`, the first
  /// being the most significant: which shard of a dimension split over `axes`
  /// it holds.
  int64_t shardIndex(int64_t position, llvm::ArrayRef<AxisId> axes) const;

  /// The positions that differ from `position` in `axes` only, itself
  /// included, ordered by shardIndex over `axes`: the group of a collective.
  llvm::SmallVector<int64_t, 8> group(int64_t position,
                                      llvm::ArrayRef<AxisId> axes) const;

  /// Calls `visit` with the coordinates along every axis of the positions that
  /// differ from the first in `axes` only, the last of these fastest.
  void
  forCoordinates(llvm::ArrayRef<AxisId> axes,
                 llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) const;

  /// Prints `(data=2, model=3)`, `(x=2:[3,1])`.
  void print(llvm::raw_ostream &os) const;

  friend bool operator==(const Grid &, const Grid &) = default;
  friend llvm::hash_code hash_value(const Grid &grid) {
    return llvm::hash_combine_range(grid.axes_.begin(), grid.axes_.end());
  }

private:
  llvm::SmallVector<GridAxis, 4> axes_;
};

} // namespace divisi

#endif // DIVISI_LAYOUT_GRID_H
