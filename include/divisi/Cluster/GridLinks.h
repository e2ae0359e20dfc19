//===- GridLinks.h - How devices of a grid are linked -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups of devices execute a step of a grid in parallel. Its cost depends on
// the span of such a group, not on the axes that form it: (x=2, y=4) within a
// node is one group of 8, like (z=8).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_GRIDLINKS_H
#define DIVISI_CLUSTER_GRIDLINKS_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Layout/Grid.h"

#include <optional>

namespace divisi {

/// How far a group of devices reaches; of several groups the worst.
struct Reach {
  int64_t members = 1; ///< Devices of a group.
  /// Per level of the cluster: over how many units of the level below a group
  /// spreads within one unit, at most. Their product is `members` where all
  /// units hold equally many.
  llvm::SmallVector<int64_t, 2> fanouts;
  /// Per level, bytes per second, device and direction, when all devices of the
  /// grid talk over it at the same time.
  llvm::SmallVector<double, 2> bytesPerSecond;

  /// Whether equally many members stand in all units.
  bool isEven() const;
  friend bool operator==(const Reach &, const Reach &) = default;
};

/// The links of a grid: plain data, that may be read by many threads.
class GridLinks {
public:
  /// A grid of one position.
  GridLinks() = default;
  /// Of `grid`, whose position p is device `devices[p]` of `cluster` (p itself
  /// if there are none). Devices beyond the last of the cluster are taken for
  /// more of the same.
  GridLinks(const Cluster &cluster, const Grid &grid,
            llvm::ArrayRef<int64_t> devices = {});

  /// The groups of positions that differ in `axes` only.
  Reach reach(llvm::ArrayRef<AxisId> axes) const;
  /// Per axis, the first of those of its size that may change places with it:
  /// groups reach equally far. Axes with weights are like no other.
  llvm::SmallVector<uint32_t, 6> alikeAxes() const;
  /// Per axis, one of `other`, of the same cluster, as which it may be taken:
  /// all groups of the axes reach as far as groups of those. The axes
  /// themselves where they may be; nothing if there are none, or too many to
  /// look at, or some have weights.
  std::optional<llvm::SmallVector<uint32_t, 6>>
  matchAxes(const GridLinks &other) const;
  /// Whose links they are.
  const Grid &grid() const { return grid_; }
  /// Of the cluster, innermost first.
  llvm::ArrayRef<LinkLevel> levels() const { return levels_; }
  /// Of the slowest device of the grid.
  double memoryBytesPerSecond() const { return memoryBytesPerSecond_; }

private:
  bool areAlike(AxisId a, AxisId b) const;
  bool matches(const GridLinks &other, llvm::ArrayRef<uint32_t> axes) const;
  Reach computeReach(llvm::ArrayRef<AxisId> inside) const;

  Grid grid_;
  llvm::SmallVector<int64_t, 8> devices_;
  llvm::SmallVector<LinkLevel, 2> levels_;
  llvm::SmallVector<int64_t, 2> unitSizes_; ///< Per level.
  llvm::SmallVector<double, 2> rates_;      ///< Per level, as in Reach.
  double memoryBytesPerSecond_ = 1e11;
  std::vector<Reach> reaches_; ///< By the set of axes, where these are few.
};

} // namespace divisi

#endif // DIVISI_CLUSTER_GRIDLINKS_H
