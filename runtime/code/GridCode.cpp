//===- GridCode.cpp - Code for blocks of threads --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"

#include <algorithm>
#include <bit>

using namespace divisi;
using namespace divisi::rt;

static constexpr std::string_view ptxPrefix = "nvptx64-nvidia-cuda-grid1:";
static constexpr std::string_view emulatedPrefix = "emulated-grid1:";

std::string divisi::rt::ptxTarget(std::string_view architecture) {
  return std::string(ptxPrefix) + std::string(architecture);
}

std::string divisi::rt::emulatedTarget(std::string_view level) {
  return std::string(emulatedPrefix) + std::string(level);
}

std::string_view divisi::rt::levelOfEmulated(std::string_view target) {
  return target.starts_with(emulatedPrefix)
             ? target.substr(emulatedPrefix.size())
             : std::string_view();
}

std::string_view divisi::rt::architectureOfTarget(std::string_view target) {
  if (!target.starts_with(ptxPrefix)) {
    return {};
  }
  target.remove_prefix(ptxPrefix.size());
  return target.substr(0, target.find(':')); // GridTarget.h
}

bool divisi::rt::isGridTarget(std::string_view target) {
  return target.starts_with(ptxPrefix) || target.starts_with(emulatedPrefix);
}

/// More blocks than a device has room for gain nothing: each goes on.
static constexpr int64_t mostBlocks = 1 << 14;

uint32_t divisi::rt::blocksFor(int64_t work, int64_t ofBlock, int64_t most) {
  return uint32_t(std::clamp<int64_t>((work + ofBlock - 1) / ofBlock, 1, most));
}

GridLaunch divisi::rt::launchRows(int64_t rows, int64_t columns,
                                  bool areShared) {
  constexpr int64_t mostThreads = int64_t(warpSize) * mostWarps;
  GridLaunch launch;
  uint64_t lanes = uint64_t(std::clamp<int64_t>(columns, 1, mostThreads));
  launch.blockX = uint32_t(std::bit_ceil(lanes));
  bool isAlone = areShared && launch.blockX > warpSize;
  launch.blockY = isAlone ? 1 : uint32_t(mostThreads) / launch.blockX;
  launch.gridX = blocksFor(rows, launch.blockY);
  return launch;
}

GridLaunch divisi::rt::launchElements(int64_t count) {
  GridLaunch launch;
  launch.blockX = uint32_t(warpSize * mostWarps);
  launch.gridX = blocksFor(count, launch.blockX);
  return launch;
}

size_t divisi::rt::numberCount(const RowNest &nest) {
  return 1 + nest.extents.size() * (1 + nest.tensors.size());
}

static GridLaunch launchOf(const RowCall::Piece &piece) {
  const RowNest &nest = piece.nest;
  GridLaunch launch =
      launchRows(nest.rows(), nest.columns(), nest.hasRowOperators);
  if (!nest.hasRowOperators) { // then rows can be cut
    launch.gridY =
        blocksFor(nest.columns(), launch.blockX, mostBlocks / launch.gridX);
  }
  for (size_t t = 0; t < piece.tensors.size(); ++t) {
    launch.pointers.push_back({piece.tensors[t], piece.begins[t]});
  }
  launch.numbers = {nest.rows()};
  auto add = [&](const Dims &dims) {
    launch.numbers.insert(launch.numbers.end(), dims.begin(), dims.end());
  };
  add(nest.extents);
  for (const RowNest::Tensor &tensor : nest.tensors) {
    add(tensor.strides);
  }
  return launch;
}

std::vector<GridLaunch> divisi::rt::gridLaunches(const RowCall &call) {
  std::vector<GridLaunch> launches;
  for (const RowCall::Piece &piece : call.pieces()) {
    launches.push_back(launchOf(piece));
  }
  return launches;
}
