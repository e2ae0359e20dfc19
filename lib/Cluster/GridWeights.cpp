//===- GridWeights.cpp - Larger shards for faster devices -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridWeights.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace divisi {

/// Small numbers in the proportion of `rates`, to one percent where the largest
/// need not be more than 64 for that.
static llvm::SmallVector<int64_t, 0> proportion(llvm::ArrayRef<double> rates) {
  constexpr int64_t kMost = 64;
  constexpr double kNear = 0.01;
  double fastest = *llvm::max_element(rates);
  for (int64_t scale = 1;; ++scale) {
    llvm::SmallVector<int64_t, 0> weights;
    bool isNear = true;
    for (double rate : rates) {
      double exact = rate / fastest * double(scale);
      weights.push_back(std::max<int64_t>(1, std::llround(exact)));
      isNear &= std::abs(double(weights.back()) - exact) <= kNear * exact;
    }
    if (isNear || scale == kMost) {
      return weights;
    }
  }
}

/// `grid` with all axes up to `last` as one, called as the first.
static DeviceGrid mergeUpTo(const DeviceGrid &grid, size_t last) {
  llvm::SmallVector<GridAxis, 4> axes(grid.grid.axes().drop_front(last));
  for (const GridAxis &outer : grid.grid.axes().take_front(last)) {
    axes.front().size *= outer.size;
  }
  axes.front().name = grid.grid.axes().front().name;
  DeviceGrid merged;
  merged.grid = Grid(axes);
  merged.roles.append(grid.roles.begin() + last, grid.roles.end());
  merged.devices = grid.devices;
  return merged;
}

/// An axis of which each position is of one kind, and kinds differ.
static std::optional<AxisId> axisOfKinds(const Grid &grid,
                                         llvm::ArrayRef<size_t> groups) {
  for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
    auto along = groupsAlong(grid, AxisId{axis}, groups);
    if (along && !llvm::all_equal(*along)) {
      return AxisId{axis};
    }
  }
  return std::nullopt;
}

/// `grid` with weights along one axis in the proportion of what `measure` tells
/// of kinds; as few of the outer axes are merged as goes. Nothing if no axis
/// has kinds apart, or it tells the same of all.
static std::optional<DeviceGrid>
weighted(const Cluster &cluster, const DeviceGrid &grid,
         llvm::function_ref<double(const DeviceKind &)> measure) {
  llvm::SmallVector<size_t, 8> groups =
      groupsOf(cluster, grid.grid, grid.devices);
  if (llvm::all_equal(groups)) {
    return std::nullopt;
  }
  for (size_t last = 0; last != grid.grid.numAxes(); ++last) {
    if (grid.roles[last] != grid.roles.front()) {
      break;
    }
    DeviceGrid found = mergeUpTo(grid, last);
    std::optional<AxisId> axis = axisOfKinds(found.grid, groups);
    if (!axis) {
      continue;
    }
    llvm::SmallVector<double, 8> rates;
    auto along = groupsAlong(found.grid, *axis, groups);
    for (size_t group : *along) {
      rates.push_back(measure(cluster.devices[group].kind));
    }
    llvm::SmallVector<GridAxis, 4> axes(found.grid.axes());
    axes[axis->index].weights = proportion(rates);
    found.grid = Grid(axes);
    found.links = GridLinks(cluster, found.grid, found.devices);
    return found.grid.isWeighted({*axis}) ? std::optional(found) : std::nullopt;
  }
  return std::nullopt;
}

void addWeighted(const Cluster &cluster, Precision precision,
                 std::vector<DeviceGrid> &grids) {
  std::vector<DeviceGrid> all;
  for (DeviceGrid &grid : grids) {
    auto add = [&](std::optional<DeviceGrid> other) {
      if (other && llvm::none_of(all, [&](const DeviceGrid &known) {
            return known.grid == other->grid &&
                   known.devices == other->devices &&
                   known.roles == other->roles;
          })) {
        all.push_back(std::move(*other));
      }
    };
    all.push_back(grid);
    add(weighted(cluster, grid, [&](const DeviceKind &kind) {
      return kind.flopsPerSecond(precision);
    }));
    // What does not fit by rates may fit by memory.
    add(weighted(cluster, grid, [](const DeviceKind &kind) {
      return double(kind.memoryBytes);
    }));
  }
  grids = std::move(all);
}

} // namespace divisi
