//===- Placement.cpp - Grids and boxes ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/HostTensor.h"
#include "runtime/artifact/ResolvedManifest.h"

#include <algorithm>
#include <set>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

std::optional<size_t> GridInfo::positionOf(uint32_t rank) const {
  // Most grids have the first ranks in their order.
  if (rank < devices.size() && devices[rank] == rank) {
    return rank;
  }
  auto it = std::find(devices.begin(), devices.end(), rank);
  if (it == devices.end()) {
    return std::nullopt;
  }
  return it - devices.begin();
}

/// How far apart two positions are that are neighbours along `axis`.
static int64_t strideOf(const GridInfo &grid, uint32_t axis) {
  int64_t stride = 1;
  for (size_t a = axis + 1; a < grid.sizes.size(); ++a) {
    stride *= grid.sizes[a];
  }
  return stride;
}

static int64_t coordinate(const GridInfo &grid, size_t position,
                          uint32_t axis) {
  return static_cast<int64_t>(position) / strideOf(grid, axis) %
         grid.sizes[axis];
}

int64_t GridInfo::shardIndex(size_t position,
                             std::span<const uint32_t> axes) const {
  int64_t index = 0;
  for (uint32_t axis : axes) {
    index = index * sizes[axis] + coordinate(*this, position, axis);
  }
  return index;
}

std::vector<size_t> GridInfo::group(size_t position,
                                    std::span<const uint32_t> axes) const {
  std::vector<size_t> members;
  auto corner = static_cast<int64_t>(position);
  int64_t size = 1;
  for (uint32_t axis : axes) {
    corner -= coordinate(*this, position, axis) * strideOf(*this, axis);
    size *= sizes[axis];
  }
  for (int64_t i = 0; i < size; ++i) {
    int64_t member = corner, rest = i;
    for (size_t a = axes.size(); a-- > 0;) {
      member += rest % sizes[axes[a]] * strideOf(*this, axes[a]);
      rest /= sizes[axes[a]];
    }
    members.push_back(static_cast<size_t>(member));
  }
  return members;
}

TensorInfo Placement::info(size_t position) const {
  return {type, boxes[position].extents(), boxes[position].begin, dims};
}

template <typename... Parts> static Status invalid(const Parts &...parts) {
  return makeError(ExitCode::Invalid, parts...);
}

/// The intervals of one dimension, by shard index.
static Status readBounds(const pb::DimLayout &layout, const GridInfo &grid,
                         int64_t extent, std::set<uint32_t> &usedAxes,
                         std::vector<std::pair<int64_t, int64_t>> &intervals) {
  int64_t shards = 1;
  for (uint32_t axis : layout.axes()) {
    if (axis >= grid.sizes.size()) {
      return invalid("axis ", axis, " of a grid with ", grid.sizes.size());
    }
    if (!usedAxes.insert(axis).second) {
      return invalid("axis ", axis, " is used twice");
    }
    shards *= grid.sizes[axis]; // divides the number of positions
  }
  if (layout.axes_size() == 0 && layout.bounds_size() == 0) {
    intervals = {{0, extent}};
    return {};
  }
  if (layout.bounds_size() != 2 * shards) {
    return invalid("got ", layout.bounds_size(), " bounds for ", shards,
                   " shards, expected two each");
  }
  for (int i = 0; i < layout.bounds_size(); i += 2) {
    intervals.emplace_back(layout.bounds(i), layout.bounds(i + 1));
    auto [begin, end] = intervals.back();
    if (begin < 0 || begin > end || end > extent) {
      return invalid("the shard [", begin, ", ", end,
                     ") lies outside of a dimension of ", extent);
    }
  }
  return {};
}

/// Whether every index of a dimension is in some shard.
static bool covers(std::vector<std::pair<int64_t, int64_t>> intervals,
                   int64_t extent) {
  std::sort(intervals.begin(), intervals.end());
  int64_t covered = 0;
  for (auto [begin, end] : intervals) {
    if (begin > covered) {
      break;
    }
    covered = std::max(covered, end);
  }
  return covered == extent;
}

static Status readPartial(const pb::Layout &layout, const GridInfo &grid,
                          std::set<uint32_t> &usedAxes, Placement &placement) {
  for (uint32_t axis : layout.partial_axes()) {
    if (axis >= grid.sizes.size()) {
      return invalid("axis ", axis, " of a grid with ", grid.sizes.size());
    }
    if (!usedAxes.insert(axis).second) {
      return invalid("axis ", axis, " is used twice");
    }
    placement.partialAxes.push_back(axis);
  }
  std::sort(placement.partialAxes.begin(), placement.partialAxes.end());
  if (placement.isPartial()) {
    auto kind = parseReduceKind(layout.partial_kind());
    if (!kind || !findCombine(placement.type, *kind)) {
      return invalid("values of ", stringify(placement.type),
                     " cannot be partial '", layout.partial_kind(), "'");
    }
    placement.partialKind = *kind;
  }
  return {};
}

static Status readPlacement(const pb::Tensor &tensor, const GridInfo &grid,
                            Placement &placement) {
  std::optional<DType> type = parseDType(tensor.dtype());
  if (!type) {
    return invalid("unknown element type '", tensor.dtype(), "'");
  }
  placement.type = *type;
  placement.dims.assign(tensor.dims().begin(), tensor.dims().end());
  placement.grid = tensor.grid();
  size_t rank = placement.dims.size();
  if (rank > 64 || !checkedBytes(*type, placement.dims)) {
    return invalid("a tensor ", describe(*type, placement.dims),
                   " has a negative dimension, more than 64 of them, or more "
                   "than 2^63 bytes");
  }
  if (static_cast<size_t>(tensor.layout().dims_size()) != rank) {
    return invalid("a layout of ", tensor.layout().dims_size(),
                   " dimensions for a tensor of ", rank);
  }
  std::set<uint32_t> usedAxes;
  placement.boxes.assign(grid.numPositions(), {Dims(rank), Dims(rank)});
  for (size_t d = 0; d < rank; ++d) {
    const pb::DimLayout &dim = tensor.layout().dims(static_cast<int>(d));
    std::vector<std::pair<int64_t, int64_t>> intervals;
    Status status =
        readBounds(dim, grid, placement.dims[d], usedAxes, intervals);
    if (!status.isOk()) {
      return status.in("dimension " + std::to_string(d));
    }
    // No axis splits two dimensions, so the boxes are all combinations of the
    // dimensions' intervals.
    placement.coversAll &= covers(intervals, placement.dims[d]);
    std::vector<uint32_t> axes(dim.axes().begin(), dim.axes().end());
    for (size_t p = 0; p < grid.numPositions(); ++p) {
      auto [begin, end] = intervals[grid.shardIndex(p, axes)];
      placement.boxes[p].begin[d] = begin;
      placement.boxes[p].end[d] = end;
    }
  }
  return readPartial(tensor.layout(), grid, usedAxes, placement);
}

Expected<const Placement *> ResolvedManifest::place(uint32_t number) {
  // A few words can ask for many boxes: each of a thousand buffers on a grid
  // of thousands.
  constexpr int64_t maxIntervals = int64_t(1) << 26;
  if (number >= static_cast<uint32_t>(manifest->tensors_size())) {
    return invalid("tensor ", number, " of ", manifest->tensors_size());
  }
  std::unique_ptr<Placement> &slot = placements_[number];
  if (slot) {
    return slot.get();
  }
  const pb::Tensor &tensor = manifest->tensors(static_cast<int>(number));
  if (tensor.grid() >= grids.size()) {
    return invalid("grid ", tensor.grid(), " of ", grids.size());
  }
  const GridInfo &grid = grids[tensor.grid()];
  numIntervals_ += static_cast<int64_t>(grid.numPositions()) *
                   std::min(1 + tensor.dims_size(), 64);
  if (numIntervals_ > maxIntervals) {
    return invalid("the manifest's tensors have more than ", maxIntervals,
                   " shards");
  }
  auto placement = std::make_unique<Placement>();
  if (Status status = readPlacement(tensor, grid, *placement); !status.isOk()) {
    return status;
  }
  slot = std::move(placement);
  return slot.get();
}
