//===- GridPace.cpp - How fast the devices of a grid are ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/GridPace.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi {

/// The first group of the kind of `device`.
static size_t groupOf(const Cluster &cluster, int64_t device) {
  size_t group = 0;
  while (group + 1 < cluster.devices.size() &&
         device >= cluster.devices[group].count) {
    device -= cluster.devices[group++].count;
  }
  return llvm::find_if(cluster.devices,
                       [&](const DeviceGroup &other) {
                         return other.kind == cluster.devices[group].kind;
                       }) -
         cluster.devices.begin();
}

llvm::SmallVector<size_t, 8> groupsOf(const Cluster &cluster, const Grid &grid,
                                      llvm::ArrayRef<int64_t> devices) {
  llvm::SmallVector<size_t, 8> groups;
  for (int64_t position = 0; position != grid.numPositions(); ++position) {
    groups.push_back(
        groupOf(cluster, devices.empty() ? position : devices[position]));
  }
  return groups;
}

std::optional<llvm::SmallVector<size_t, 8>>
groupsAlong(const Grid &grid, AxisId axis, llvm::ArrayRef<size_t> groups) {
  llvm::SmallVector<size_t, 8> along;
  for (int64_t first : grid.group(0, {axis})) {
    along.push_back(groups[first]);
  }
  for (auto [position, group] : llvm::enumerate(groups)) {
    if (along[grid.shardIndex(int64_t(position), {axis})] != group) {
      return std::nullopt;
    }
  }
  return along;
}

GridPace::GridPace(const Cluster &cluster, const Grid &grid,
                   llvm::ArrayRef<int64_t> devices) {
  llvm::SmallVector<size_t, 8> groups = groupsOf(cluster, grid, devices);
  for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
    if (!grid.isWeighted({AxisId{axis}})) {
      continue;
    }
    auto along = groupsAlong(grid, AxisId{axis}, groups);
    if (!along) {
      continue;
    }
    // Each run of positions of one kind.
    for (int64_t begin = 0, end = 0; end != grid.size(AxisId{axis});
         begin = end) {
      while (end != grid.size(AxisId{axis}) &&
             (*along)[end] == (*along)[begin]) {
        ++end;
      }
      parts.push_back({cluster.devices[(*along)[begin]].kind,
                       {AxisId{axis}, {begin, end}}});
    }
    return;
  }
  parts.push_back({cluster.pace(groups), {}});
}

std::vector<GridMemory> memoriesOf(const Cluster &cluster, const Grid &grid,
                                   llvm::ArrayRef<int64_t> devices) {
  std::vector<GridMemory> memories;
  for (const GridPace::Part &part : GridPace(cluster, grid, devices).parts) {
    auto known = llvm::find_if(memories, [&](const GridMemory &memory) {
      return memory.kind == part.kind;
    });
    if (known == memories.end()) {
      known = memories.insert(known, {part.kind, {}});
    }
    known->positions.push_back(part.positions);
  }
  if (memories.size() > 1) {
    return memories;
  }
  memories.front().positions = {GridPart()};
  llvm::SmallVector<size_t, 8> groups = groupsOf(cluster, grid, devices);
  auto least = llvm::min_element(groups, [&](size_t a, size_t b) {
    return cluster.devices[a].kind.memoryBytes <
           cluster.devices[b].kind.memoryBytes;
  });
  memories.front().kind = cluster.devices[*least].kind;
  return memories;
}

bool GridPace::fuses() const {
  return llvm::all_of(parts, [](const Part &part) { return part.kind.fuses; });
}

} // namespace divisi
