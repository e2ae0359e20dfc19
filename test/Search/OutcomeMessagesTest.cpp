//===- OutcomeMessagesTest.cpp - Why a solver has no answer or no proof ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Solvers.h"

#include <gmock/gmock.h>

using namespace divisi::search;
using testing::HasSubstr;

/// A chain of `count` nodes of two strategies each, which use 4 and 2 bytes.
static Problem chain(unsigned count) {
  Problem problem;
  problem.matrices = {{2, 2, {0, 5, 5, 0}}};
  for (unsigned i = 0; i != count; ++i) {
    problem.nodes.push_back({"", {}, {1, 3}, {4, 2}, {0, 2}});
    if (i != 0) {
      problem.edges.push_back({i - 1, i, 0, {}, {}});
    }
  }
  return problem;
}

/// A chain whose first two nodes exclude each other.
static Problem excluding(unsigned count) {
  Problem problem = chain(count);
  problem.matrices.push_back({2, 2, std::vector<int64_t>(4, kInfeasible)});
  problem.edges[0].costs = 1;
  return problem;
}

/// Three nodes of which no two may take the same of two strategies.
static Problem oddCycle() {
  Problem problem = chain(3);
  problem.matrices[0].entries = {kInfeasible, 0, 0, kInfeasible};
  problem.edges.push_back({0, 2, 0, {}, {}});
  return problem;
}

/// A chain in which every assignment uses a byte more than the limit.
static Problem tooLarge() {
  Problem problem = chain(4);
  problem.usageLimit = 7;
  return problem;
}

TEST(OutcomeMessages, OfStrategiesThatExcludeEachOther) {
  EXPECT_EQ(solveAuto(excluding(3)).message,
            "no strategy of node 0 is compatible with any of its neighbours', "
            "whatever the limit");
  EXPECT_EQ(solveExact(excluding(3)).message,
            "whatever the memory limit, there is no assignment: no strategy of "
            "node 0 is compatible with those of its neighbours");
  EXPECT_THAT(solveExact(oddCycle()).message,
              HasSubstr("the strategies of some nodes exclude each other"));
  EXPECT_EQ(solveIlp(excluding(3)).message,
            "whatever the memory limit, no strategy of node 0 is compatible "
            "with those of its neighbours");
  EXPECT_EQ(solveMcmc(excluding(3), {.work = 1000}).message,
            "no feasible plan was met; the last one has 1 infeasible choices "
            "and is 0 bytes above the limit");
}

TEST(OutcomeMessages, OfLimits) {
  EXPECT_EQ(solveAuto(tooLarge()).message,
            "at time 0 at least 8 bytes are in use, 1 more than the limit of "
            "7");
  EXPECT_EQ(solveExact(tooLarge()).message,
            "no assignment is within the limit of 7 bytes: at time 0 at least "
            "8 bytes are in use, 1 more");
  EXPECT_EQ(solveIlp(tooLarge()).message,
            "no assignment was found: HiGHS finds it infeasible, to its "
            "tolerances, which proves nothing");
}

TEST(OutcomeMessages, OfBudgetsAndProofs) {
  EXPECT_EQ(solveExact(chain(3), {.work = 1}).message,
            "not solved exactly: the budget ended before an order of "
            "elimination was found; use another solver");
  EXPECT_EQ(solveIlp(chain(3), {.work = 1}).message,
            "the budget ended before HiGHS began");
  EXPECT_EQ(solveIlp(chain(3)).message,
            "HiGHS calls it optimal, to a tolerance of 1e-6");
  Problem fixed = chain(2);
  for (Node &node : fixed.nodes) {
    node.costs = node.usages = {1};
  }
  fixed.matrices = {{1, 1, {0}}};
  EXPECT_EQ(solveIlp(fixed).message, "no node has a choice");
}
