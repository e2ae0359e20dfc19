//===- StagePlannerTest.cpp -----------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/StagePlanner.h"

#include "gmock/gmock.h"

#include <algorithm>
#include <map>
#include <random>

using namespace divisi;

using Key = std::tuple<size_t, size_t, size_t, size_t>;

/// What `stages` cost by the formula in the header; nothing if they do not fit.
static std::optional<int64_t> costOf(const StageProblem &problem,
                                     const std::vector<Stage> &stages) {
  int64_t sum = 0, most = 0, pace = 0;
  std::vector<size_t> taken(problem.devices.size());
  for (size_t position = 0; position < stages.size(); ++position) {
    const auto &[begin, end, grid] = stages[position];
    if (!problem.sizes.empty() && problem.sizes[position] != grid.devices) {
      return std::nullopt;
    }
    std::optional<StageCost> cost = problem.cost(begin, end, grid);
    taken[grid.kind] += grid.devices;
    if (!cost || taken[grid.kind] > problem.devices[grid.kind]) {
      return std::nullopt;
    }
    auto held = int64_t(problem.inFlight(position, stages.size()));
    if (cost->bytes + held * cost->bytesKept > problem.memory[grid.kind]) {
      return std::nullopt;
    }
    sum += cost->nanoseconds + cost->sends + cost->sendsBack;
    int64_t own = std::max({cost->nanoseconds, cost->sends, cost->sendsBack});
    pace = std::max(pace, own);
    most = std::max(most, own * int64_t(problem.microBatches - 1) + cost->once);
  }
  switch (problem.objective) {
  case StageObjective::Step:
    return sum + most;
  case StageObjective::Latency:
    return sum;
  case StageObjective::Throughput:
    return pace;
  }
  return std::nullopt;
}

/// The least cost of all cuts and sub-grids from `layer` on.
static void tryAll(const StageProblem &problem, size_t layer,
                   std::vector<Stage> &stages, std::optional<int64_t> &best) {
  if (layer == problem.layers) {
    bool isLeftOut = std::ranges::count(problem.leftOut, stages.size()) > 0;
    bool isWanted = stages.size() >= problem.minStages && !isLeftOut;
    std::optional<int64_t> cost =
        isWanted ? costOf(problem, stages) : std::nullopt;
    best = cost ? std::min(best.value_or(*cost), *cost) : best;
    return;
  }
  if (stages.size() == problem.maxStages) {
    return;
  }
  for (size_t end = layer + 1; end <= problem.layers; ++end) {
    for (const SubGrid &grid : problem.subGrids) {
      stages.push_back({layer, end, grid});
      tryAll(problem, end, stages, best);
      stages.pop_back();
    }
  }
}

/// Costs drawn for each stage, of no order at all.
class DrawnProblem : public StageProblem {
public:
  explicit DrawnProblem(std::mt19937 &random) {
    auto upTo = [&random](size_t most) { return 1 + random() % most; };
    layers = upTo(6);
    size_t kinds = upTo(2);
    for (size_t kind = 0; kind < kinds; ++kind) {
      devices.push_back(upTo(kinds == 1 ? 8 : 4));
      memory.push_back(int64_t(40 + random() % 200));
      for (size_t count = 1; count <= devices.back(); count += upTo(2)) {
        subGrids.push_back({kind, count});
      }
    }
    microBatches = upTo(6);
    minStages = upTo(2);
    maxStages = minStages + random() % 5;
    if (random() % 3 == 0) { // which then are those of the stages
      minStages = maxStages = upTo(3);
      while (sizes.size() < maxStages) {
        sizes.push_back(subGrids[random() % subGrids.size()].devices);
      }
    }
    if (random() % 3 == 0) {
      leftOut = {upTo(3), upTo(5)};
    }
    objective = StageObjective(random() % 3);
    inFlight = [this](size_t position, size_t stages) {
      return inFlightOf1F1B(position, stages, microBatches);
    };
    for (size_t begin = 0; begin < layers; ++begin) {
      for (size_t end = begin + 1; end <= layers; ++end) {
        for (const SubGrid &grid : subGrids) {
          if (random() % 8 == 0) {
            continue;
          }
          auto size = int64_t(end - begin);
          drawn_[{begin, end, grid.kind, grid.devices}] = {
              .nanoseconds = size * int64_t(upTo(50)),
              .sends = int64_t(random() % 30),
              .sendsBack = int64_t(random() % 30),
              .once = int64_t(random() % 40),
              .bytes = size * int64_t(upTo(30)),
              .bytesKept = int64_t(upTo(20))};
        }
      }
    }
    cost = [this](size_t begin, size_t end,
                  const SubGrid &grid) -> std::optional<StageCost> {
      auto found = drawn_.find({begin, end, grid.kind, grid.devices});
      return found == drawn_.end() ? std::nullopt
                                   : std::optional(found->second);
    };
  }
  DrawnProblem(const DrawnProblem &) = delete;

private:
  std::map<Key, StageCost> drawn_;
};

/// Against all cuts and sub-grids.
TEST(StagePlannerTest, findsTheBestOfAll) {
  std::mt19937 random(11);
  int found = 0, none = 0;
  for (int round = 0; round < 400; ++round) {
    DrawnProblem problem(random);
    std::vector<Stage> stages;
    std::optional<int64_t> best;
    tryAll(problem, 0, stages, best);
    std::optional<StagePlan> plan = planStages(problem);
    ASSERT_EQ(plan.has_value(), best.has_value()) << round;
    if (!plan) {
      ++none;
      continue;
    }
    ++found;
    EXPECT_EQ(plan->nanoseconds, *best) << round;
    EXPECT_EQ(costOf(problem, plan->stages), *best) << round;
  }
  EXPECT_GT(found, 150);
  EXPECT_GT(none, 20);
}

/// A problem whose layers take `time` on one fast device, and twice that on a
/// slow one; `n` devices are `n` times as fast.
static StageProblem layersOf(size_t layers, int64_t time,
                             std::vector<size_t> devices) {
  StageProblem problem;
  problem.layers = layers;
  problem.devices = std::move(devices);
  for (size_t kind = 0; kind < problem.devices.size(); ++kind) {
    problem.memory.push_back(10000);
    for (size_t count = 1; count <= problem.devices[kind]; ++count) {
      problem.subGrids.push_back({kind, count});
    }
  }
  problem.maxStages = layers;
  problem.inFlight = [](size_t, size_t) { return 1; };
  problem.cost = [=](size_t begin, size_t end, const SubGrid &grid) {
    auto work = int64_t(end - begin) * time * int64_t(1 + grid.kind);
    return std::optional(StageCost{.nanoseconds = work / int64_t(grid.devices),
                                   .sends = 1,
                                   .sendsBack = 0,
                                   .once = 0,
                                   .bytes = int64_t(end - begin) * 100,
                                   .bytesKept = 0});
  };
  return problem;
}

/// Slow devices get fewer layers: 6 layers on a fast device and one half as
/// fast are cut 4 to 2.
TEST(StagePlannerTest, slowDevicesGetFewerLayers) {
  StageProblem problem = layersOf(6, 100, {1, 1});
  problem.microBatches = 32;
  std::optional<StagePlan> plan = planStages(problem);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->stages.size(), 2u);
  for (const Stage &stage : plan->stages) {
    EXPECT_EQ(stage.end - stage.begin, stage.subGrid.kind == 0 ? 4u : 2u);
  }
}

/// One micro-batch is fastest on all devices at once; where layers do not fit
/// one sub-grid, stages are what is left.
TEST(StagePlannerTest, stagesAreMadeWhereTheyPay) {
  StageProblem problem = layersOf(12, 100, {3});
  std::optional<StagePlan> plan = planStages(problem);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->stages.size(), 1u);
  EXPECT_EQ(plan->stages[0].subGrid.devices, 3u);
  problem.memory = {500};
  plan = planStages(problem);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->stages.size(), 3u);
  problem.memory = {399};
  EXPECT_FALSE(planStages(problem).has_value());
}

/// 24 layers on 64 devices: stages of all sizes that divide nodes.
TEST(StagePlannerTest, plansLargeProblems) {
  StageProblem problem = layersOf(24, 6400, {64});
  problem.microBatches = 64;
  size_t asked = 0;
  problem.cost = [&asked, cost = problem.cost](size_t begin, size_t end,
                                               const SubGrid &grid) {
    ++asked;
    return cost(begin, end, grid);
  };
  problem.subGrids = {{0, 1},  {0, 2},  {0, 4}, {0, 8},
                      {0, 16}, {0, 24}, {0, 64}};
  std::optional<StagePlan> plan = planStages(problem);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(asked, 24u * 25 / 2 * 7);
  EXPECT_EQ(plan->stages.size(), 1u); // nothing is faster than all devices
}
