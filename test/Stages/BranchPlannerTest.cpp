//===- BranchPlannerTest.cpp ----------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/BranchPlanner.h"

#include "gmock/gmock.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace divisi;
using testing::ElementsAre;

/// When the last node ends if each begins as soon as its devices are free and
/// its operands are there, in that order.
static int64_t simulate(const BranchProblem &problem,
                        const std::vector<DevicePart> &places,
                        const std::vector<size_t> &order) {
  std::vector<int64_t> ends(problem.nodes.size());
  std::vector<int64_t> free(problem.sizes.back());
  for (size_t i : order) {
    auto begin = free.begin() + int64_t(places[i].first);
    auto end = begin + int64_t(problem.sizes[places[i].size]);
    int64_t start = *std::max_element(begin, end);
    for (size_t operand : problem.nodes[i].operands) {
      bool isMoved = !(places[operand] == places[i]);
      start = std::max(start, ends[operand] +
                                  (isMoved ? problem.nodes[operand].move : 0));
    }
    ends[i] = start + problem.nodes[i].nanoseconds[places[i].size];
    std::fill(begin, end, ends[i]);
  }
  return *std::max_element(ends.begin(), ends.end());
}

/// The least that simulate() says, in the order of nodes, of all places of
/// those that have none.
static int64_t leastOf(const BranchProblem &problem,
                       std::vector<DevicePart> &places) {
  if (places.size() == problem.nodes.size()) {
    std::vector<size_t> order(places.size());
    std::iota(order.begin(), order.end(), size_t(0));
    return simulate(problem, places, order);
  }
  int64_t least = INT64_MAX;
  for (size_t size = 0; size < problem.sizes.size(); ++size) {
    for (size_t first = 0; first + problem.sizes[size] <= problem.sizes.back();
         ++first) {
      places.push_back({first, size});
      least = std::min(least, leastOf(problem, places));
      places.pop_back();
    }
  }
  return least;
}

/// What it takes on all devices.
static int64_t undivided(const BranchProblem &problem) {
  int64_t sum = 0;
  for (const BranchNode &node : problem.nodes) {
    sum += node.nanoseconds.back();
  }
  return sum;
}

TEST(BranchPlanner, KeepsAChainWhole) {
  BranchProblem problem{{{{5, 4}, {}}, {{5, 4}, {0}}, {{5, 4}, {1}}}, {1, 2}};
  BranchPlan plan = planBranches(problem);
  EXPECT_FALSE(plan.isDivided());
  EXPECT_EQ(plan.nanoseconds, 12);
}

TEST(BranchPlanner, GivesEachTowerHalf) {
  // Nodes that two devices do in 6 and one in 8; then one that joins them.
  BranchProblem problem{{{{8, 6}, {}},
                         {{8, 6}, {}},
                         {{8, 6}, {0}},
                         {{8, 6}, {1}},
                         {{2, 1}, {2, 3}}},
                        {1, 2}};
  BranchPlan plan = planBranches(problem);
  EXPECT_EQ(plan.nanoseconds, 17);
  EXPECT_THAT(plan.places,
              ElementsAre(DevicePart{0, 0}, DevicePart{1, 0}, DevicePart{0, 0},
                          DevicePart{1, 0}, DevicePart{0, 1}));
}

TEST(BranchPlanner, KeepsTowersWholeWhereDevicesShareEvenly) {
  BranchProblem problem{{{{12, 6}, {}}, {{12, 6}, {}}, {{2, 1}, {0, 1}}},
                        {1, 2}};
  EXPECT_FALSE(planBranches(problem).isDivided());
}

TEST(BranchPlanner, CountsMoves) {
  // Two branches of 10 behind one node; each result moves twice.
  auto problem = [](int64_t move) {
    return BranchProblem{{{{4, 4}, {}, move},
                          {{10, 10}, {0}, move},
                          {{10, 10}, {0}, move},
                          {{4, 4}, {1, 2}, move}},
                         {1, 2}};
  };
  EXPECT_EQ(planBranches(problem(4)).nanoseconds, 26);
  EXPECT_EQ(planBranches(problem(5)).nanoseconds, 28);
  EXPECT_FALSE(planBranches(problem(5)).isDivided());
}

TEST(BranchPlanner, DividesGroupsFurther) {
  // An Inception module whose columns no number of devices makes faster.
  BranchProblem problem{{{{1, 1, 1}, {}}}, {1, 2, 4}};
  for (int64_t column : {9, 9, 7, 8}) {
    problem.nodes.push_back({{column, column, column}, {0}});
  }
  problem.nodes.push_back({{1, 1, 1}, {1, 2, 3, 4}});
  BranchPlan plan = planBranches(problem);
  EXPECT_EQ(plan.nanoseconds, 11);
  std::vector<size_t> firsts;
  for (size_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(plan.places[i].size, 0u);
    firsts.push_back(plan.places[i].first);
  }
  EXPECT_THAT(firsts, testing::UnorderedElementsAre(0, 1, 2, 3));
}

TEST(BranchPlanner, DividesTowersThatMeetInPairs) {
  // Three towers, of which the first meets both others.
  BranchProblem problem{{{{10, 9, 9}, {}},
                         {{10, 9, 9}, {}},
                         {{10, 9, 9}, {}},
                         {{2, 2, 2}, {0, 1}},
                         {{2, 2, 2}, {0, 2}}},
                        {1, 2, 3}};
  EXPECT_EQ(planBranches(problem).nanoseconds, 12);
}

TEST(BranchPlanner, DividesManyBranchesByTheirLength) {
  BranchProblem problem{{}, {1, 2}};
  for (int64_t i = 0; i < 20; ++i) {
    problem.nodes.push_back({{10 + i, 10 + i}, {}});
  }
  // The sum is 390.
  EXPECT_LE(planBranches(problem).nanoseconds, 200);
}

/// Nodes with drawn operands, whose times fall with the devices.
static BranchProblem draw(std::mt19937 &random, size_t most) {
  auto upTo = [&random](size_t last) { return random() % (last + 1); };
  BranchProblem problem;
  problem.sizes =
      upTo(1) == 0 ? std::vector<size_t>{1, 2} : std::vector<size_t>{1, 2, 3};
  size_t count = 2 + upTo(most - 2);
  int64_t move = int64_t(upTo(2));
  for (size_t i = 0; i < count; ++i) {
    BranchNode &node = problem.nodes.emplace_back();
    int64_t time = 12 + int64_t(upTo(24));
    for (size_t size = 0; size < problem.sizes.size(); ++size) {
      node.nanoseconds.push_back(time);
      time -= int64_t(upTo(size_t(time) / 2));
    }
    node.move = move;
    for (size_t operand = 0; operand < i; ++operand) {
      if (upTo(2) == 0) {
        node.operands.push_back(operand);
      }
    }
  }
  return problem;
}

TEST(BranchPlanner, IsRightOnDrawnProblems) {
  std::mt19937 random(7);
  size_t divided = 0, best = 0, all = 400;
  for (size_t i = 0; i < all; ++i) {
    BranchProblem problem = draw(random, 5);
    BranchPlan plan = planBranches(problem);
    std::vector<DevicePart> places;
    int64_t least = leastOf(problem, places);
    int64_t simulated = simulate(problem, plan.places, plan.order);
    // What is said holds, and is not worse than no branches.
    EXPECT_LE(simulated, plan.nanoseconds);
    EXPECT_LE(plan.nanoseconds, undivided(problem));
    divided += plan.isDivided() ? 1 : 0;
    best += simulated <= least ? 1 : 0;
  }
  RecordProperty("divided", int(divided));
  RecordProperty("best", int(best));
  EXPECT_GT(divided, all / 4);
  EXPECT_GT(best, all / 2);
}
