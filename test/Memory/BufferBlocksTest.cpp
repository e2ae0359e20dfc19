//===- BufferBlocksTest.cpp - Tests of how long buffers are needed --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/BufferBlocks.h"
#include "divisi/Memory/NeededOrder.h"

#include "gmock/gmock.h"

#include <iostream>
#include <random>

using namespace divisi;
using testing::ElementsAre;
using testing::Pair;

/// The blocks as pairs of begin and end.
static std::vector<std::pair<int64_t, int64_t>>
timesOf(const BufferBlocks &made) {
  std::vector<std::pair<int64_t, int64_t>> times;
  for (const ArenaBlock &block : made.blocks) {
    times.push_back({block.begin, block.end});
  }
  return times;
}

/// What another queue reads is needed until a step knows that it has been read:
/// the example of the header.
TEST(BufferBlocksTest, anotherQueueIsWaitedFor) {
  std::vector<BufferStep> steps = {{{}, {0}, {}},
                                   {{0}, {1}, {}, 1},
                                   {{}, {2}, {}},
                                   {{}, {3}, {}},
                                   {{1, 3}, {4}, {}}};
  std::vector<int64_t> bytes(5, 64);
  EXPECT_THAT(
      timesOf(blocksOf(steps, bytes, /*overlaps=*/false)),
      ElementsAre(Pair(0, 2), Pair(1, 5), Pair(2, 3), Pair(3, 5), Pair(4, 5)));
  EXPECT_THAT(
      timesOf(blocksOf(steps, bytes, /*overlaps=*/true)),
      ElementsAre(Pair(0, 4), Pair(1, 5), Pair(2, 3), Pair(3, 5), Pair(4, 5)));
}

/// To know the second of a queue is to know the first; and what nobody waits
/// for is needed until the end.
TEST(BufferBlocksTest, queueOrderIsKnowledge) {
  std::vector<BufferStep> steps = {{{}, {0, 1, 4}, {}},
                                   {{0}, {2}, {}, 1},
                                   {{1}, {3}, {}, 1},
                                   {{3}, {5}, {}},
                                   {{4}, {6}, {}, 2}};
  BufferBlocks made =
      blocksOf(steps, std::vector<int64_t>(7, 64), /*overlaps=*/true);
  EXPECT_EQ(made.blocks[made.blockOf[0]].end, 3);
  EXPECT_EQ(made.blocks[made.blockOf[1]].end, 3);
  EXPECT_EQ(made.blocks[made.blockOf[4]].end, 6);
  EXPECT_EQ(made.blocks[made.blockOf[6]].end, 6);
}

/// What is sent is needed until two more are sent on its queue, or to the end.
TEST(BufferBlocksTest, sendsEndWithLaterOnes) {
  std::vector<BufferStep> steps;
  for (size_t i = 0; i < 5; ++i) {
    steps.push_back({{}, {i}, {}});
    steps.push_back({{i}, {}, {}, 1, false, {}, true});
  }
  std::vector<int64_t> bytes(5, 64);
  EXPECT_THAT(timesOf(blocksOf(steps, bytes, /*overlaps=*/true)),
              ElementsAre(Pair(0, 6), Pair(2, 8), Pair(4, 11), Pair(6, 11),
                          Pair(8, 11)));
  EXPECT_THAT(
      timesOf(blocksOf(steps, bytes, /*overlaps=*/false)),
      ElementsAre(Pair(0, 2), Pair(2, 4), Pair(4, 6), Pair(6, 8), Pair(8, 10)));
}

/// Scratch is needed while its step runs, and lies over no operand.
TEST(BufferBlocksTest, scratchHasBytesOfItsOwn) {
  std::vector<BufferStep> steps = {
      {{}, {0}, {}}, {{0}, {1}, {0}, 0, false, {2}}, {{1}, {}, {}}};
  for (bool overlaps : {false, true}) {
    BufferBlocks made = blocksOf(steps, std::vector<int64_t>(3, 64), overlaps);
    EXPECT_THAT(timesOf(made), ElementsAre(Pair(0, 3), Pair(1, 2)));
    EXPECT_EQ(made.blockOf[2], 1u);
  }
}

/// Nothing is written over what a collective still reads.
TEST(BufferBlocksTest, inPlaceWaitsForOtherQueues) {
  std::vector<BufferStep> steps = {
      {{}, {0}, {}}, {{0}, {1}, {}, 1}, {{0}, {2}, {0}}, {{1, 2}, {3}, {}}};
  std::vector<int64_t> bytes(4, 64);
  EXPECT_EQ(blocksOf(steps, bytes, /*overlaps=*/false).numInPlace, 1u);
  BufferBlocks made = blocksOf(steps, bytes, /*overlaps=*/true);
  EXPECT_EQ(made.numInPlace, 0u);
  EXPECT_EQ(made.blocks.size(), 4u);
}

namespace {

/// The order of a program that is placed.
struct Order {
  /// Per step: the steps that it comes after, by what touches the same bytes.
  std::vector<std::vector<size_t>> after;
};

} // namespace

static Order orderOf(const std::vector<BufferStep> &steps,
                     const std::vector<int64_t> &bytes,
                     const std::vector<int64_t> &offsets) {
  NeededOrder needed;
  Order order;
  for (const BufferStep &step : steps) {
    std::vector<ByteAccess> accesses;
    for (size_t buffer : step.reads) {
      accesses.push_back(
          {offsets[buffer], offsets[buffer] + bytes[buffer], false});
    }
    for (size_t buffer : step.writes) {
      accesses.push_back(
          {offsets[buffer], offsets[buffer] + bytes[buffer], true});
    }
    order.after.push_back(needed.add(step.queue, {}, accesses));
  }
  return order;
}

/// When each step begins if every one takes a time of its own.
static std::vector<int64_t> beginsOf(const std::vector<BufferStep> &steps,
                                     const Order &order,
                                     const std::vector<int64_t> &durations) {
  std::vector<int64_t> begins, ends;
  std::map<size_t, int64_t> free;
  for (size_t i = 0; i < steps.size(); ++i) {
    int64_t begin = free[steps[i].queue];
    for (size_t earlier : order.after[i]) {
      begin = std::max(begin, ends[earlier]);
    }
    begins.push_back(begin);
    ends.push_back(free[steps[i].queue] = begin + durations[i]);
  }
  return begins;
}

// Operators that use bytes again never wait for a collective because of that:
// each of them begins as if all buffers had bytes of their own. (Collectives
// may wait for operators before them in the list.)
TEST(BufferBlocksTest, usingBytesAgainDelaysNoOperator) {
  std::mt19937 random(5);
  int shared = 0, delayed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<BufferStep> steps;
    std::vector<int64_t> bytes, apart, durations;
    int64_t total = 0;
    for (size_t i = 0; i < 12; ++i) {
      BufferStep step;
      step.queue = i == 0 || random() % 3 ? 0 : 1 + random() % 2;
      for (size_t read = 0; i > 0 && read <= random() % 2; ++read) {
        step.reads.push_back(random() % i);
      }
      step.writes = {i};
      steps.push_back(step);
      bytes.push_back(64 * int64_t(1 + random() % 3));
      apart.push_back(total);
      total += bytes.back();
      durations.push_back(step.queue == 0 ? 1 : 1 + int64_t(random() % 5));
    }
    auto offsets = [&](bool overlaps) {
      BufferBlocks made = blocksOf(steps, bytes, overlaps);
      std::optional<ArenaPlan> plan = planArena(made.blocks);
      shared += plan->bytes < total;
      std::vector<int64_t> list;
      for (size_t block : made.blockOf) {
        list.push_back(plan->offsets[block]);
      }
      return list;
    };
    // What is waited for because of bytes alone.
    auto waits = [&](const std::vector<int64_t> &where) {
      Order needed = orderOf(steps, bytes, where);
      Order data = orderOf(steps, bytes, apart);
      for (size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].queue != 0) {
          needed.after[i] = data.after[i];
        }
      }
      return beginsOf(steps, needed, durations) !=
             beginsOf(steps, data, durations);
    };
    EXPECT_FALSE(waits(offsets(/*overlaps=*/true)));
    delayed += waits(offsets(/*overlaps=*/false));
  }
  std::cout << shared << " arenas share bytes, " << delayed
            << " would wait without overlap\n";
  EXPECT_GT(shared, 2000);
  EXPECT_GT(delayed, 50);
}
