//===- ProblemTest.cpp - Validity and evaluation of problems --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Problem.h"

#include <gtest/gtest.h>

using namespace divisi::search;

/// w (live 0..10) and mm (live 4..6) with a matrix between them.
static Problem pair() {
  Problem problem;
  problem.nodes = {{"w", {}, {1, 2}, {8, 4}, {0, 10}},
                   {"mm", {}, {9, 5, 5}, {6, 3, 3}, {4, 6}}};
  problem.matrices = {{2, 3, {0, 0, 0, 7, 7, 1}}};
  problem.edges = {{0, 1, 0, {}, {}}};
  return problem;
}

TEST(Problem, EvaluateSumsCostsAndFindsTheFirstPeak) {
  Solution solution = evaluate(pair(), {1, 2});
  EXPECT_EQ(solution.cost, 2 + 5 + 1);
  EXPECT_EQ(solution.peak, 4 + 3);
  EXPECT_EQ(solution.peakTime, 4);
  EXPECT_EQ(solution.lowerBound, 1 + 5 + 0);
  EXPECT_EQ(check(pair(), solution), std::nullopt);
}

TEST(Problem, ValidateNamesWhatDisagrees) {
  Problem problem = pair();
  EXPECT_EQ(validate(problem), std::nullopt);
  problem.nodes[0].usages.pop_back();
  EXPECT_EQ(validate(problem), "node 0 has 2 costs but 1 usages");
  problem = pair();
  problem.matrices[0].entries.pop_back();
  EXPECT_EQ(validate(problem), "edge 0 has 5 entries, expected 2 x 3");
  problem = pair();
  problem.edges[0].to = 2;
  EXPECT_EQ(validate(problem), "edge 0 refers to node 2, of 2");
  problem = pair();
  problem.nodes[1].live = {6, 4};
  EXPECT_EQ(validate(problem), "node 1 lives until 4, before it begins at 6");
  problem.nodes[1].live = {-1, 4};
  EXPECT_EQ(validate(problem), "node 1 lives from -1, below zero");
  problem = pair();
  problem.nodes[1].costs[0] = -kInfeasible;
  EXPECT_EQ(validate(problem), "node 1 has a cost of -1000000000000000000, "
                               "expected it above -1000000000000000000");
  problem = pair();
  problem.matrices[0].entries[1] = INT64_MIN;
  EXPECT_EQ(validate(problem), "edge 0 has a cost of -9223372036854775808, "
                               "expected it above -1000000000000000000");
}

TEST(Problem, CheckFindsEveryLie) {
  Problem problem = pair();
  Solution good = evaluate(problem, {0, 1});
  Solution bad = good;
  bad.cost -= 1;
  EXPECT_EQ(check(problem, bad), "the cost is 6, not 5");
  bad = good;
  bad.peak = 8;
  EXPECT_EQ(check(problem, bad), "the peak is 11 at time 4, not 8 at time 4");
  bad = good;
  bad.lowerBound = 7;
  EXPECT_EQ(check(problem, bad), "the lower bound 7 is above the cost 6");
  bad = good;
  bad.assignment[1] = 3;
  EXPECT_EQ(check(problem, bad), "node 1 takes strategy 3, of 3");
  problem.usageLimit = 10;
  EXPECT_EQ(check(problem, good),
            "at time 4 the usage is 11, above the limit of 10");
  problem.matrices[0].entries[1] = kInfeasible;
  EXPECT_EQ(check(problem, good),
            "edge 0 joins strategies that exclude each other");
}

// What ends at a time makes room for what begins there.
TEST(Problem, IntervalsAreHalfOpen) {
  Problem problem;
  problem.nodes = {{"a", {}, {0}, {5}, {0, 3}}, {"b", {}, {0}, {6}, {3, 4}}};
  Solution solution = evaluate(problem, {0, 0});
  EXPECT_EQ(solution.peak, 6);
  EXPECT_EQ(solution.peakTime, 3);
  EXPECT_EQ(check(problem, solution), std::nullopt);
}

TEST(Problem, SumsOfInfeasibleCostsDoNotOverflow) {
  Problem problem;
  for (int i = 0; i != 20; ++i) {
    problem.nodes.push_back({"", {}, {kInfeasible}, {INT64_MAX}, {0, 1}});
  }
  Solution solution = evaluate(problem, std::vector<uint32_t>(20, 0));
  EXPECT_EQ(toString(solution.cost), "20000000000000000000");
  EXPECT_EQ(toString(solution.peak), "184467440737095516140");
  EXPECT_EQ(toString(-Wide(42)), "-42");
}
