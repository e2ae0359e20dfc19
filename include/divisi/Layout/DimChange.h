//===- DimChange.h - One dimension between two layouts ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All facts about one dimension that some step between two layouts asks for,
// gathered once: a router compares the same two dimensions many times. Uneven,
// overlapping and incomplete bounds need no rule of their own, as the facts are
// read off the shards themselves; between even shards they follow from the
// axes.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_DIMCHANGE_H
#define DIVISI_LAYOUT_DIMCHANGE_H

#include "divisi/Layout/Layout.h"

#include <vector>

namespace divisi {

/// What happens to one dimension between two layouts.
struct DimChange {
  /// Every position holds all that it will hold.
  bool contained = true;
  /// All that any position will hold, some position holds along `talking`.
  bool covered = true;
  /// The source's axes are the target's and then `minor`, whose shards stand
  /// one after another in the target's shards.
  bool gathers = false;
  /// The mirror image: the target has the axes `minor` more.
  bool splits = false;
  llvm::SmallVector<AxisId, 2> minor;

  /// The axes that split the source.
  llvm::SmallVector<AxisId, 2> talking;
  /// The axes along which positions may differ in what they do, ascending.
  llvm::SmallVector<AxisId, 4> axes;
  /// What one position has to do with the dimension.
  struct Cell {
    int64_t size = 0;   ///< Indices that it will hold.
    int64_t kept = 0;   ///< Those of them that it holds.
    int64_t owners = 0; ///< From how many positions it takes them, at least.
    friend auto operator<=>(const Cell &, const Cell &) = default;
  };
  /// By shardIndex over `axes`.
  std::vector<Cell> cells;
  /// Those of `cells` that no other is worse than, by taking no less, keeping
  /// no more, and from no fewer: few, however many positions.
  llvm::SmallVector<Cell, 2> worst;

  int64_t largestFrom = 0, largestTo = 0; ///< The sizes of the largest shards.
};

/// Compares two layouts of one dimension of the given extent.
DimChange analyzeDim(const Grid &grid, int64_t extent, const DimLayout &from,
                     const DimLayout &to);

/// For each of the intervals `wanted`, the smallest number of `shards` that
/// together hold it; 0 for an empty one, and where no shards do.
std::vector<int64_t> countOwners(llvm::ArrayRef<Interval> shards,
                                 llvm::ArrayRef<Interval> wanted);

} // namespace divisi

#endif // DIVISI_LAYOUT_DIMCHANGE_H
