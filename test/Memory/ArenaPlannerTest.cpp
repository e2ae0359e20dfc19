//===- ArenaPlannerTest.cpp - Tests of the arena planner ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/ArenaPlanner.h"

#include "gtest/gtest.h"

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

// Sums that int64_t cannot hold are refused, not wrapped.
TEST(ArenaPlanner, RefusesOverflow) {
  int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(planArena(std::vector<ArenaBlock>{{0, 1, huge}}));
  EXPECT_FALSE(planArena(std::vector<ArenaBlock>{
      {0, 1, huge / 2}, {0, 1, huge / 2}, {0, 1, huge / 2}}));
}
