//===- FindMesh.cpp - The mesh behind shardings ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FindMesh.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;

/// A shard's number is a number whose digits are coordinates along some axes,
/// and its weights are what the number is one step along each.
std::optional<std::vector<std::vector<AxisId>>>
divisi::axesOf(const ResolvedSharding &sharding, const Grid &grid) {
  size_t factors = sharding.shards.front().size();
  std::vector<std::vector<AxisId>> axes(factors);
  std::vector<int64_t> parts;
  for (const auto &dim : sharding.dims) {
    for (const FactorSharding &factor : dim) {
      parts.push_back(factor.shards);
    }
  }
  for (size_t factor = 0; factor < factors; ++factor) {
    std::vector<std::pair<int64_t, AxisId>> weights;
    int64_t stride = grid.numPositions();
    for (uint32_t axis = 0; axis < grid.numAxes(); ++axis) {
      if (grid.size(AxisId{axis}) == 1) {
        continue;
      }
      stride /= grid.size(AxisId{axis});
      int64_t weight = sharding.shards[size_t(stride)][factor];
      if (weight > 0) {
        weights.emplace_back(weight, AxisId{axis});
      }
    }
    llvm::sort(weights, [](auto &a, auto &b) { return a.first > b.first; });
    for (auto &[weight, axis] : weights) {
      axes[factor].push_back(axis);
    }
    if (grid.product(axes[factor]) != parts[factor]) {
      return std::nullopt;
    }
    for (size_t device = 0; device < sharding.shards.size(); ++device) {
      if (grid.shardIndex(int64_t(device), axes[factor]) !=
          sharding.shards[device][factor]) {
        return std::nullopt;
      }
    }
  }
  return axes;
}

static Grid gridOf(llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<GridAxis, 4> axes;
  for (auto [number, size] : llvm::enumerate(sizes)) {
    axes.push_back({"x" + std::to_string(number), size});
  }
  return Grid(axes);
}

/// The first of the factorizations of `left` into `count` more axes that
/// `fits`.
static std::optional<Grid>
tryAxes(int64_t left, int64_t count, llvm::SmallVectorImpl<int64_t> &sizes,
        llvm::function_ref<bool(const Grid &)> fits) {
  if (count == 1) {
    sizes.push_back(left);
    Grid grid = gridOf(sizes);
    sizes.pop_back();
    return fits(grid) ? std::optional(grid) : std::nullopt;
  }
  for (int64_t size = 2; size <= left / 2; ++size) {
    if (left % size == 0) {
      sizes.push_back(size);
      auto found = tryAxes(left / size, count - 1, sizes, fits);
      sizes.pop_back();
      if (found) {
        return found;
      }
    }
  }
  return std::nullopt;
}

std::optional<Grid>
divisi::findMesh(int64_t devices,
                 const std::vector<ResolvedSharding> &shardings) {
  constexpr int64_t kMostAxes = 4;
  auto fits = [&](const Grid &grid) {
    return llvm::all_of(shardings, [&](const ResolvedSharding &each) {
      return axesOf(each, grid).has_value();
    });
  };
  llvm::SmallVector<int64_t, 4> sizes;
  for (int64_t count = 1; count <= kMostAxes; ++count) {
    if (auto grid = tryAxes(devices, count, sizes, fits)) {
      return grid;
    }
  }
  return std::nullopt;
}
