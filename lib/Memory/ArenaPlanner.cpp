//===- ArenaPlanner.cpp - Offsets for buffers that live for a while -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/ArenaPlanner.h"

#include "divisi/Support/CheckedMath.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace divisi;

namespace {

/// A placed block's bytes.
struct Range {
  int64_t begin;
  int64_t end;
};

} // namespace

static bool overlapInTime(const ArenaBlock &a, const ArenaBlock &b) {
  return a.begin < b.end && b.begin < a.end;
}

/// The lowest offset at which `bytes` fit between `taken`, which is sorted.
static int64_t lowestGap(const std::vector<Range> &taken, int64_t bytes) {
  int64_t offset = 0;
  for (const Range &range : taken) {
    if (range.begin - offset >= bytes) {
      break;
    }
    offset = std::max(offset, range.end);
  }
  return offset;
}

/// The largest sum of `sizes` that live at once.
static std::optional<int64_t>
largestLiveSum(std::span<const ArenaBlock> blocks,
               const std::vector<int64_t> &sizes) {
  std::map<int64_t, int64_t> changes;
  std::optional<int64_t> total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    // Bounds every sum below.
    total = checkedAdd(*total, sizes[i]);
    if (!total) {
      return std::nullopt;
    }
    changes[blocks[i].begin] += sizes[i];
    changes[blocks[i].end] -= sizes[i];
  }
  int64_t live = 0, largest = 0;
  for (auto [time, change] : changes) {
    live += change;
    largest = std::max(largest, live);
  }
  return largest;
}

std::optional<ArenaPlan> divisi::planArena(std::span<const ArenaBlock> blocks,
                                           int64_t alignment) {
  std::vector<int64_t> sizes;
  for (const ArenaBlock &block : blocks) {
    std::optional<int64_t> padded = checkedAdd(block.bytes, alignment - 1);
    if (!padded) {
      return std::nullopt;
    }
    sizes.push_back(*padded / alignment * alignment);
  }
  ArenaPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  // The sum bounds every offset below, which therefore cannot overflow.
  std::optional<int64_t> largest = largestLiveSum(blocks, sizes);
  if (!largest) {
    return std::nullopt;
  }
  plan.lowerBound = *largest;

  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<size_t> placed;
  std::vector<Range> taken;
  for (size_t block : order) {
    if (sizes[block] == 0) {
      continue;
    }
    taken.clear();
    for (size_t other : placed) {
      if (overlapInTime(blocks[block], blocks[other])) {
        taken.push_back(
            {plan.offsets[other], plan.offsets[other] + sizes[other]});
      }
    }
    std::sort(taken.begin(), taken.end(),
              [](const Range &a, const Range &b) { return a.begin < b.begin; });
    plan.offsets[block] = lowestGap(taken, sizes[block]);
    plan.bytes = std::max(plan.bytes, plan.offsets[block] + sizes[block]);
    placed.push_back(block);
  }
  return plan;
}
