//===- PipelineSearchTest.cpp ---------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/PipelineSearch.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace divisi;

/// All orders of the steps of one stage in which each micro-batch has its own
/// in turn.
static std::vector<std::vector<PipelineStep>>
allOrders(size_t chunk, size_t microBatches, bool splits) {
  std::vector<Phase> phases = {Phase::Forward, Phase::Backward};
  if (splits) {
    phases = {Phase::Forward, Phase::InputGradient, Phase::WeightGradient};
  }
  std::vector<size_t> whose; // each order of it is one of the steps
  for (size_t micro = 0; micro < microBatches; ++micro) {
    whose.insert(whose.end(), phases.size(), micro);
  }
  std::vector<std::vector<PipelineStep>> all;
  do {
    std::vector<size_t> next(microBatches);
    std::vector<PipelineStep> order;
    for (size_t micro : whose) {
      order.push_back({chunk, micro, phases[next[micro]++]});
    }
    all.push_back(std::move(order));
  } while (std::ranges::next_permutation(whose).found);
  return all;
}

/// The least time of two stages within `memory`, found by trying all orders.
static std::optional<int64_t> leastTime(size_t microBatches, bool splits,
                                        const std::vector<ChunkCost> &costs,
                                        const std::vector<int64_t> &memory) {
  std::optional<int64_t> best;
  PipelineSchedule schedule{"all", microBatches, {0, 1}, {}};
  auto seconds = allOrders(1, microBatches, splits);
  for (const auto &first : allOrders(0, microBatches, splits)) {
    for (const auto &second : seconds) {
      schedule.order = {first, second};
      if (validate(schedule)) {
        continue;
      }
      PipelineTimes times = simulate(schedule, costs);
      if (times.stages[0].peakBytes <= memory[0] &&
          times.stages[1].peakBytes <= memory[1]) {
        best = std::min(best.value_or(times.nanoseconds), times.nanoseconds);
      }
    }
  }
  return best;
}

static std::vector<ChunkCost> randomCosts(std::mt19937 &random, size_t chunks) {
  std::vector<ChunkCost> costs;
  auto upTo = [&](unsigned most) { return int64_t(1 + random() % most); };
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    costs.push_back(
        {upTo(9), upTo(9), upTo(9), upTo(4) - 1, upTo(4) - 1, upTo(3)});
  }
  return costs;
}

/// Against all orders of two stages: nothing that fits is missed, no bound is
/// false, and what is found is the best or near it.
TEST(PipelineSearchTest, isNearTheBestOfAllOrders) {
  std::mt19937 random(3);
  int cases = 0, best = 0;
  for (int round = 0; round < 60; ++round) {
    bool splits = round % 2 == 0;
    size_t micro = splits ? 2 : 3;
    std::vector<ChunkCost> costs = randomCosts(random, 2);
    std::vector<int64_t> memory = {int64_t(1 + random() % 9),
                                   int64_t(1 + random() % 9)};
    std::optional<int64_t> least = leastTime(micro, splits, costs, memory);
    std::optional<FoundSchedule> found =
        searchSchedule({0, 1}, micro, costs, memory, {splits, 2000});
    ASSERT_EQ(found.has_value(), least.has_value());
    if (!found) {
      continue;
    }
    EXPECT_EQ(validate(found->schedule), std::nullopt);
    EXPECT_LE(pipelineBound({0, 1}, micro, costs), *least);
    // With split steps allowed, whole ones may be found as well: as fast.
    EXPECT_GE(found->times.nanoseconds, splits ? 0 : *least);
    EXPECT_LE(double(found->times.nanoseconds), 1.25 * double(*least));
    ++cases;
    best += found->times.nanoseconds <= *least;
  }
  EXPECT_GT(cases, 30);
  EXPECT_GE(best * 10, cases * 8) << best << " of " << cases;
}

/// No order is slower than those that have names, and none keeps more than it
/// may.
TEST(PipelineSearchTest, isNeverSlowerThanKnownSchedules) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    size_t stages = 1 + random() % 4, micro = 1 + random() % 8;
    size_t perStage = 1 + random() % 3;
    std::vector<size_t> stageOf = roundStages(stages, perStage);
    std::vector<ChunkCost> costs = randomCosts(random, stageOf.size());
    std::vector<int64_t> memory(stages, 3 * int64_t(perStage * micro));
    PipelineSchedule known = makeInterleaved(stages, perStage, micro);
    std::optional<FoundSchedule> found =
        searchSchedule(stageOf, micro, costs, memory, {true, 300});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(validate(found->schedule), std::nullopt);
    EXPECT_LE(found->times.nanoseconds, simulate(known, costs).nanoseconds);
    EXPECT_GE(found->times.nanoseconds, pipelineBound(stageOf, micro, costs));
    for (const StageUse &stage : found->times.stages) {
      EXPECT_LE(stage.peakBytes, memory[0]);
    }
  }
}

/// ZB-V of its paper: with F = I = W and memory of p whole micro-batches no
/// stage waits but at the begin and the end, where p chunks go up and down.
TEST(PipelineSearchTest, chunksInAVLeaveNoBubble) {
  for (auto [p, m] : {std::pair<size_t, size_t>{4, 4}, {4, 8}, {8, 8}}) {
    std::vector<size_t> stageOf = waveStages(p, 1);
    std::vector<ChunkCost> costs(2 * p, {1, 1, 1, 0, 0, 1});
    std::vector<int64_t> memory(p, int64_t(2 * p));
    std::optional<FoundSchedule> found =
        searchSchedule(stageOf, m, costs, memory);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->times.nanoseconds, int64_t(6 * m + p - 1)) << p << m;
    EXPECT_EQ(found->times.nanoseconds, pipelineBound(stageOf, m, costs));
  }
}

/// A stage of which the memory holds one micro-batch runs them one by one; with
/// less there is no order.
TEST(PipelineSearchTest, memoryBoundsWhatIsBegun) {
  std::vector<ChunkCost> costs(4, {1, 1, 1, 0, 0, 5});
  std::vector<size_t> stageOf = waveStages(2, 1);
  EXPECT_FALSE(searchSchedule(stageOf, 4, costs, {9, 10}).has_value());
  std::optional<FoundSchedule> found =
      searchSchedule(stageOf, 4, costs, {10, 10});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->times.stages[0].peakBytes, 10);
  std::optional<FoundSchedule> more =
      searchSchedule(stageOf, 4, costs, {40, 40});
  ASSERT_TRUE(more.has_value());
  EXPECT_LT(more->times.nanoseconds, found->times.nanoseconds);
}

/// The same arguments give the same order.
TEST(PipelineSearchTest, isDeterministic) {
  std::mt19937 random(9);
  std::vector<size_t> stageOf = roundStages(3, 2);
  std::vector<ChunkCost> costs = randomCosts(random, 6);
  std::vector<int64_t> memory(3, 20);
  auto once = searchSchedule(stageOf, 5, costs, memory);
  auto again = searchSchedule(stageOf, 5, costs, memory);
  ASSERT_TRUE(once && again);
  EXPECT_EQ(once->schedule.order, again->schedule.order);
}
