//===- GridLinks.cpp - How devices of a grid are linked -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/GridLinks.h"

#include "divisi/Cluster/GridPace.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace divisi {

/// Up to so many axes all sets of them are looked at beforehand.
static constexpr size_t kFewAxes = 6;

bool Reach::isEven() const {
  return std::accumulate(fanouts.begin(), fanouts.end(), int64_t(1),
                         std::multiplies<>()) == members;
}

/// Of how many devices each unit of `size` devices is the home; the most.
static int64_t mostInUnit(llvm::ArrayRef<int64_t> devices, int64_t size) {
  llvm::DenseMap<int64_t, int64_t> counts;
  int64_t most = 0;
  for (int64_t device : devices) {
    most = std::max(most, ++counts[device / size]);
  }
  return most;
}

GridLinks::GridLinks(const Cluster &cluster, const Grid &grid,
                     llvm::ArrayRef<int64_t> devices)
    : grid_(grid), devices_(devices), levels_(cluster.levels),
      memoryBytesPerSecond_(
          cluster.pace(groupsOf(cluster, grid, devices)).memoryBytesPerSecond) {
  if (devices_.empty()) {
    devices_.resize(grid.numPositions());
    std::iota(devices_.begin(), devices_.end(), 0);
  }
  for (auto [index, level] : llvm::enumerate(levels_)) {
    int64_t below = index == 0 ? 1 : unitSizes_.back();
    double rate = level.bytesPerSecond;
    if (level.unitBytesPerSecond > 0) {
      rate = std::min(rate, level.unitBytesPerSecond /
                                double(mostInUnit(devices_, below)));
    }
    rates_.push_back(rate);
    unitSizes_.push_back(cluster.unitSize(index));
  }
  if (grid.numAxes() <= kFewAxes) {
    for (uint64_t set = 0; set >> grid.numAxes() == 0; ++set) {
      llvm::SmallVector<AxisId, 8> axes;
      for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
        if (set >> axis & 1) {
          axes.push_back(AxisId{axis});
        }
      }
      reaches_.push_back(computeReach(axes));
    }
  }
}

/// Into how many units of `below` devices those within one of `above` fall, at
/// most.
static int64_t spread(llvm::ArrayRef<int64_t> devices, int64_t below,
                      int64_t above) {
  llvm::SmallVector<int64_t, 16> units;
  for (int64_t device : devices) {
    units.push_back(device / below);
  }
  llvm::sort(units);
  units.erase(llvm::unique(units), units.end());
  return mostInUnit(units, above / below);
}

Reach GridLinks::computeReach(llvm::ArrayRef<AxisId> inside) const {
  llvm::SmallVector<AxisId, 8> outside;
  for (uint32_t axis = 0; axis != grid_.numAxes(); ++axis) {
    if (!llvm::is_contained(inside, AxisId{axis})) {
      outside.push_back(AxisId{axis});
    }
  }
  Reach reach;
  reach.members = grid_.product(inside);
  reach.fanouts.assign(levels_.size(), 1);
  reach.bytesPerSecond = rates_;
  if (reach.members == 1) {
    return reach;
  }
  for (int64_t first : grid_.group(0, outside)) {
    llvm::SmallVector<int64_t, 16> group;
    for (int64_t position : grid_.group(first, inside)) {
      group.push_back(devices_[position]);
    }
    int64_t below = 1;
    for (auto [fanout, size] : llvm::zip_equal(reach.fanouts, unitSizes_)) {
      // The outermost level also joins what the cluster does not have.
      int64_t above = &fanout == &reach.fanouts.back() ? INT64_MAX : size;
      fanout = std::max(fanout, spread(group, below, above));
      below = size;
    }
  }
  return reach;
}

Reach GridLinks::reach(llvm::ArrayRef<AxisId> axes) const {
  if (reaches_.empty()) {
    return computeReach(axes);
  }
  uint64_t set = 0;
  for (AxisId axis : axes) {
    set |= uint64_t(1) << axis.index;
  }
  return reaches_[set];
}

/// Whether it makes no difference to any group if one takes the other's place.
bool GridLinks::areAlike(AxisId a, AxisId b) const {
  const GridAxis &first = grid_.axes()[a.index];
  const GridAxis &second = grid_.axes()[b.index];
  if (first.size != second.size || !first.weights.empty() ||
      !second.weights.empty()) {
    return false;
  }
  for (uint64_t set = 0; set != reaches_.size(); ++set) {
    bool hasA = set >> a.index & 1, hasB = set >> b.index & 1;
    uint64_t swapped =
        set ^ (uint64_t(1) << a.index) ^ (uint64_t(1) << b.index);
    if (hasA && !hasB && reaches_[set] != reaches_[swapped]) {
      return false;
    }
  }
  return !reaches_.empty();
}

llvm::SmallVector<uint32_t, 6> GridLinks::alikeAxes() const {
  llvm::SmallVector<uint32_t, 6> alike;
  for (uint32_t axis = 0; axis != grid_.numAxes(); ++axis) {
    uint32_t first = 0;
    while (first != axis && !areAlike(AxisId{first}, AxisId{axis})) {
      ++first;
    }
    alike.push_back(first);
  }
  return alike;
}

/// Whether axes of `other`, one per axis, may stand for these.
bool GridLinks::matches(const GridLinks &other,
                        llvm::ArrayRef<uint32_t> axes) const {
  for (auto [axis, name] : llvm::enumerate(axes)) {
    if (grid_.axes()[axis].size != other.grid_.axes()[name].size) {
      return false;
    }
  }
  for (uint64_t set = 0; set != reaches_.size(); ++set) {
    uint64_t named = 0;
    for (auto [axis, name] : llvm::enumerate(axes)) {
      named |= (set >> axis & 1) << name;
    }
    if (reaches_[set] != other.reaches_[named]) {
      return false;
    }
  }
  return true;
}

std::optional<llvm::SmallVector<uint32_t, 6>>
GridLinks::matchAxes(const GridLinks &other) const {
  auto hasWeights = [](const GridAxis &axis) { return !axis.weights.empty(); };
  bool isWeighted = llvm::any_of(grid_.axes(), hasWeights) ||
                    llvm::any_of(other.grid_.axes(), hasWeights);
  if (isWeighted || reaches_.empty() ||
      reaches_.size() != other.reaches_.size() ||
      memoryBytesPerSecond_ != other.memoryBytesPerSecond_) {
    return std::nullopt;
  }
  llvm::SmallVector<uint32_t, 6> axes(grid_.numAxes());
  std::iota(axes.begin(), axes.end(), 0);
  do {
    if (matches(other, axes)) {
      return axes;
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
  return std::nullopt;
}

} // namespace divisi
