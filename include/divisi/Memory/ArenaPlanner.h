//===- ArenaPlanner.h - Offsets for buffers in one arena --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers of a program are blocks in time and space: [begin, end) in
// instructions, some bytes high. Blocks that live at the same time must not
// share bytes; the arena should be small.
//
//   time   0   1   2   3
//   a     [--------)            a at 0, b at 64, c again at 0
//   b         [--------)
//   c             [----)
//
// Placing blocks by falling size, each at the lowest gap that fits, is close to
// optimal on inference graphs (Pisarchyk and Lee, "Efficient memory management
// for deep neural net inference", 2020, "greedy by size"). Other orders are
// tried after it, and blocks that stick out are placed earlier, until nothing
// does or a fixed amount of work is done: local search over orders, of the
// large blocks first.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_MEMORY_ARENAPLANNER_H
#define DIVISI_MEMORY_ARENAPLANNER_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace divisi {

/// Of which offsets are multiples, unless told otherwise: bytes.
inline constexpr int64_t kArenaAlignment = 64;

/// One buffer: needed from instruction `begin` until before `end`.
struct ArenaBlock {
  int64_t begin = 0; ///< The first instruction that needs it.
  int64_t end = 0;   ///< The first that does not any more.
  int64_t bytes = 0; ///< Before padding to the alignment.
};

/// Where the blocks lie.
struct ArenaPlan {
  std::vector<int64_t> offsets; ///< One per block, multiples of `alignment`.
  int64_t bytes = 0;            ///< Of the whole arena.
  int64_t lowerBound = 0;       ///< leastArena
};

/// The largest sum of bytes that live at any time: no plan is smaller. Nothing
/// if an int64_t does not count them.
std::optional<int64_t> leastArena(std::span<const ArenaBlock> blocks,
                                  int64_t alignment = kArenaAlignment);

/// Places all blocks; deterministic. Nothing if the arena would not fit in an
/// int64_t. An arena of at most `enough` bytes is not made smaller.
std::optional<ArenaPlan> planArena(std::span<const ArenaBlock> blocks,
                                   int64_t alignment = kArenaAlignment,
                                   int64_t enough = 0);

} // namespace divisi

#endif // DIVISI_MEMORY_ARENAPLANNER_H
