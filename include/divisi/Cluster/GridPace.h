//===- GridPace.h - How fast the devices of a grid are ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All devices of a grid do their parts at the same time, so equal parts take as
// long as the slowest kind. Where an axis has weights, kinds get unequal parts,
// and each kind is timed with its own:
//
//   devices            a100 a100 v100 v100
//   (x=4)              one part, at the pace of the slowest
//   (x=4:[5,5,2,2])    x=0 and x=1 at the pace of a100, x=2 and x=3 of v100
//
// Memory limits follow the same rule: if all have equal parts, the smallest
// memory binds, else each kind's own.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_GRIDPACE_H
#define DIVISI_CLUSTER_GRIDPACE_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Layout/Layout.h"

#include <vector>

namespace divisi {

/// The kinds of devices of a grid, and where they stand.
struct GridPace {
  /// Positions that go at one pace.
  struct Part {
    DeviceKind kind;    ///< Of their devices, or what all of these can do.
    GridPart positions; ///< A run along one axis, or all.
  };
  llvm::SmallVector<Part, 1> parts; ///< Of all positions; at least one.

  /// Every position is of `kind`.
  GridPace(const DeviceKind &kind) : parts({Part{kind, {}}}) {}
  /// Of `grid`, whose position p is device `devices[p]` of `cluster` (p itself
  /// if there are none). More than one part only along an axis with weights of
  /// which each position is of one kind.
  GridPace(const Cluster &cluster, const Grid &grid,
           llvm::ArrayRef<int64_t> devices);

  /// Whether operators are fused: by all of them, as all run one program.
  bool fuses() const;
};

/// The memory of devices of a grid that hold equal parts.
struct GridMemory {
  DeviceKind kind; ///< Of the devices; of several kinds the one that has least.
  llvm::SmallVector<GridPart, 1> positions; ///< Where they stand.
};

/// The memories of `grid`, whose position p is device `devices[p]` of `cluster`
/// (p itself if there are none), in the order in which the parts of its pace
/// first mention a kind; at least one.
std::vector<GridMemory> memoriesOf(const Cluster &cluster, const Grid &grid,
                                   llvm::ArrayRef<int64_t> devices);

/// Per position of `grid`: the first group of `cluster` whose kind its device
/// is of. Devices beyond the last are taken for more of the same.
llvm::SmallVector<size_t, 8> groupsOf(const Cluster &cluster, const Grid &grid,
                                      llvm::ArrayRef<int64_t> devices);

/// The group at each position along `axis`, if each position there is of one.
std::optional<llvm::SmallVector<size_t, 8>>
groupsAlong(const Grid &grid, AxisId axis, llvm::ArrayRef<size_t> groups);

} // namespace divisi

#endif // DIVISI_CLUSTER_GRIDPACE_H
