//===- ArenaPlannerTest.cpp - Tests of the arena planner ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/ArenaPlanner.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace divisi;

/// The overlap of every pair is checked directly, without the planner's own
/// notion of a gap.
static void expectDisjoint(const std::vector<ArenaBlock> &blocks,
                           const ArenaPlan &plan) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_LE(plan.offsets[i] + blocks[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      bool together = std::max(blocks[i].begin, blocks[j].begin) <
                      std::min(blocks[i].end, blocks[j].end);
      bool share = std::max(plan.offsets[i], plan.offsets[j]) <
                   std::min(plan.offsets[i] + blocks[i].bytes,
                            plan.offsets[j] + blocks[j].bytes);
      EXPECT_FALSE(together && share) << "blocks " << i << " and " << j;
    }
  }
}

// A chain of equal buffers, each read by the next, needs two of them.
TEST(ArenaPlanner, ReusesBytesInAChain) {
  std::vector<ArenaBlock> blocks;
  for (int64_t i = 0; i < 10; ++i) {
    blocks.push_back({i, i + 2, 100});
  }
  std::optional<ArenaPlan> plan = planArena(blocks);
  ASSERT_TRUE(plan);
  expectDisjoint(blocks, *plan);
  EXPECT_EQ(plan->bytes, 256);
  EXPECT_EQ(plan->lowerBound, 256);
}

// Random lifetimes: never an overlap, and within a third of the lower bound.
TEST(ArenaPlanner, RandomBlocks) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBlock> blocks;
    for (int i = 0; i < 60; ++i) {
      int64_t begin = random() % 100;
      blocks.push_back({begin, begin + 1 + int64_t(random() % 20),
                        int64_t(random() % 5000)});
    }
    std::optional<ArenaPlan> plan = planArena(blocks);
    ASSERT_TRUE(plan);
    expectDisjoint(blocks, *plan);
    EXPECT_GE(plan->bytes, plan->lowerBound);
    EXPECT_LE(plan->bytes, plan->lowerBound * 4 / 3);
  }
}

/// Cuts [begin, end) x `bytes` into `count` blocks: they fill it.
static void cut(std::mt19937 &random, ArenaBlock whole, unsigned count,
                std::vector<ArenaBlock> &blocks) {
  int64_t units = whole.bytes / 64, duration = whole.end - whole.begin;
  if (count == 1 || (units == 1 && duration == 1)) {
    blocks.push_back(whole);
    return;
  }
  unsigned left = 1 + random() % (count - 1);
  ArenaBlock first = whole, second = whole;
  if (units == 1 || (duration > 1 && random() % 2 == 0)) {
    first.end = second.begin =
        whole.begin + 1 + int64_t(random() % uint64_t(duration - 1));
  } else {
    first.bytes = 64 * (1 + int64_t(random() % uint64_t(units - 1)));
    second.bytes -= first.bytes;
  }
  cut(random, first, left, blocks);
  cut(random, second, count - left, blocks);
}

// There is a way without a gap: nearly all of it is found.
TEST(ArenaPlanner, FillsRectangles) {
  std::mt19937 random(3);
  constexpr int64_t kBytes = 640000;
  for (int round = 0; round < 12; ++round) {
    std::vector<ArenaBlock> blocks;
    cut(random, {0, 300, kBytes}, 40, blocks);
    std::shuffle(blocks.begin(), blocks.end(), random);
    std::optional<ArenaPlan> plan = planArena(blocks);
    ASSERT_TRUE(plan);
    expectDisjoint(blocks, *plan);
    EXPECT_EQ(plan->lowerBound, kBytes);
    EXPECT_LE(plan->bytes, kBytes * 103 / 100) << "round " << round;
  }
}

// The larger buffers of a segmentation network: a few that are long-lived and
// large leave room for others only if they are placed before those.
TEST(ArenaPlanner, LargeBlocksMakeRoomForEachOther) {
  std::vector<ArenaBlock> blocks = {
      {48, 51, 65536},      {50, 56, 65536},      {57, 83, 49152},
      {68, 72, 65536},      {79, 191, 65536},     {241, 333, 49152},
      {270, 273, 196608},   {272, 279, 196608},   {278, 281, 262144},
      {280, 283, 262144},   {282, 286, 262144},   {285, 288, 90112},
      {332, 335, 65536},    {403, 413, 65536},    {445, 448, 65536},
      {447, 452, 65536},    {530, 535, 65536},    {551, 556, 65536},
      {598, 602, 49152},    {601, 608, 49152},    {625, 628, 49152},
      {627, 630, 49152},    {636, 641, 262144},   {930, 934, 49152},
      {952, 955, 49152},    {954, 957, 49152},    {956, 959, 49152},
      {958, 961, 49152},    {960, 966, 49152},    {1324, 1435, 262144},
      {1350, 1353, 65536},  {1424, 1437, 98304},  {1426, 1429, 49152},
      {1428, 1437, 98304},  {1432, 1437, 98304},  {1434, 1437, 98304},
      {1436, 1440, 196608}, {1439, 1446, 393216}, {1445, 1449, 98304},
      {1448, 1451, 49152},  {1450, 1453, 131072}, {1452, 1461, 131072},
      {1460, 1463, 131072}, {1462, 1470, 262144}};
  std::optional<ArenaPlan> plan = planArena(blocks);
  ASSERT_TRUE(plan);
  expectDisjoint(blocks, *plan);
  EXPECT_EQ(plan->bytes, plan->lowerBound);
}

// What a stage of a pipeline keeps for later, among much that is short-lived:
// blocks of all durations, in times that are far apart.
TEST(ArenaPlanner, MicroBatchesOfAPipeline) {
  std::mt19937 random(5);
  constexpr int64_t kBatches = 12, kOperators = 80;
  std::vector<ArenaBlock> blocks;
  for (int64_t batch = 0; batch < kBatches; ++batch) {
    for (int64_t i = 0; i < kOperators; ++i) {
      int64_t begin = (batch * kOperators + i) * 1000 - 5000;
      bool isKept = i % 4 == 0;
      int64_t end = isKept ? begin + (6 * kOperators - 2 * i) * 1000
                           : begin + 2000 + int64_t(random() % 3) * 1000;
      blocks.push_back({begin, end, 64 * (1 + int64_t(random() % 300))});
    }
  }
  std::optional<ArenaPlan> plan = planArena(blocks);
  ASSERT_TRUE(plan);
  expectDisjoint(blocks, *plan);
  EXPECT_LE(plan->bytes, plan->lowerBound * 6 / 5);
}

// Sums that int64_t cannot hold are refused, not wrapped.
TEST(ArenaPlanner, RefusesOverflow) {
  int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(planArena(std::vector<ArenaBlock>{{0, 1, huge}}));
  EXPECT_FALSE(planArena(std::vector<ArenaBlock>{
      {0, 1, huge / 2}, {0, 1, huge / 2}, {0, 1, huge / 2}}));
}
