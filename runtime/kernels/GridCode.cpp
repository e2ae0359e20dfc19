//===- GridCode.cpp - Code for blocks of threads --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/GridCode.h"

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

std::string_view divisi::rt::architectureOfTarget(std::string_view target) {
  return target.starts_with(ptxPrefix) ? target.substr(ptxPrefix.size())
                                       : std::string_view();
}

bool divisi::rt::isGridTarget(std::string_view target) {
  return target.starts_with(ptxPrefix) || target.starts_with(emulatedPrefix);
}

/// More blocks than a device has room for at a time gain nothing.
static constexpr int64_t mostBlocks = 1 << 14;

static uint32_t blocksFor(int64_t work, int64_t ofBlock, int64_t most) {
  return uint32_t(std::clamp<int64_t>((work + ofBlock - 1) / ofBlock, 1, most));
}

GridShape GridShape::of(const RowNest &nest) {
  constexpr int64_t mostThreads = int64_t(warpSize) * mostWarps;
  GridShape shape;
  uint64_t columns = uint64_t(std::max<int64_t>(nest.columns(), 1));
  shape.lanes = uint32_t(
      std::bit_ceil(std::min(columns, static_cast<uint64_t>(mostThreads))));
  bool isAlone = nest.hasRowOperators && shape.lanes > warpSize;
  shape.rowsOfBlock = isAlone ? 1 : uint32_t(mostThreads) / shape.lanes;
  shape.rowBlocks = blocksFor(nest.rows(), shape.rowsOfBlock, mostBlocks);
  if (!nest.hasRowOperators) {
    shape.columnBlocks = blocksFor(nest.columns(), shape.lanes,
                                   mostBlocks / shape.rowBlocks);
  }
  return shape;
}

size_t divisi::rt::numberCount(const RowNest &nest) {
  return 1 + nest.extents.size() * (1 + nest.tensors.size());
}

std::vector<int64_t> divisi::rt::gridNumbers(const RowNest &nest) {
  std::vector<int64_t> numbers = {nest.rows()};
  numbers.insert(numbers.end(), nest.extents.begin(), nest.extents.end());
  for (const RowNest::Tensor &tensor : nest.tensors) {
    numbers.insert(numbers.end(), tensor.strides.begin(), tensor.strides.end());
  }
  return numbers;
}
