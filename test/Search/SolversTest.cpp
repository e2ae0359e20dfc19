//===- SolversTest.cpp - The default solver and its variants --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Solvers.h"

#include "CaseCount.h"
#include "RandomProblems.h"

#include "divisi/Search/ProblemIO.h"

#include <gtest/gtest.h>

using namespace divisi::search;

TEST(SolveAuto, FindsTheOptimumOfSmallProblems) {
  CaseCount cases("small problems by auto");
  for (unsigned seed = 0; seed != 60; ++seed, ++cases) {
    Problem problem = randomProblem(Shape::Program, seed);
    std::optional<Wide> optimum = bruteForce(problem).optimum;
    Outcome outcome = solveAuto(problem);
    ASSERT_EQ(outcome.verdict == Verdict::Solved, optimum.has_value()) << seed;
    if (optimum) {
      EXPECT_EQ(check(problem, outcome.solution), std::nullopt) << seed;
      EXPECT_EQ(toString(outcome.solution.cost), toString(*optimum)) << seed;
    }
  }
}

// Under a limit the solver is a heuristic: it must stay within it, seldom miss
// the optimum, and never give up where the slightly looser limit has a plan.
TEST(SolveAuto, StaysWithinTheLimit) {
  int solvable = 0, solved = 0, optimal = 0;
  CaseCount cases("small problems with limits by auto");
  for (unsigned seed = 0; seed != 100; ++seed) {
    Problem problem = randomProblem(Shape::Program, seed);
    Outcome free = solveAuto(problem);
    if (free.verdict != Verdict::Solved) {
      continue;
    }
    ++cases;
    problem.usageLimit = int64_t(free.solution.peak) * 3 / 4;
    std::optional<Wide> optimum = bruteForce(problem).optimum;
    Outcome outcome = solveAuto(problem);
    solvable += optimum.has_value();
    if (outcome.verdict == Verdict::Solved) {
      ++solved;
      EXPECT_EQ(check(problem, outcome.solution), std::nullopt) << seed;
      optimal += optimum && outcome.solution.cost == *optimum;
    } else {
      EXPECT_FALSE(outcome.message.empty());
    }
  }
  EXPECT_GT(solvable, 20);
  EXPECT_GE(solved, solvable * 9 / 10);
  EXPECT_GE(optimal, solvable * 8 / 10);
}

TEST(SolveAuto, SolvesTheExampleOfTheContest) {
  auto problem = readProblemFile(DATA_DIR "/example.json");
  ASSERT_TRUE(problem) << problem.status().message();
  Outcome outcome = solveAuto(*problem);
  ASSERT_EQ(outcome.verdict, Verdict::Solved) << outcome.message;
  EXPECT_EQ(outcome.solution.cost, *bruteForce(*problem).optimum);
}

TEST(SolveAuto, SolvesInstanceGWithinAPercent) {
  auto problem = readProblemFile(DATA_DIR "/asplos-2025-iopddl-G.json.gz");
  ASSERT_TRUE(problem) << problem.status().message();
  Outcome outcome = solveAuto(*problem);
  ASSERT_EQ(outcome.verdict, Verdict::Solved) << outcome.message;
  EXPECT_EQ(check(*problem, outcome.solution), std::nullopt);
  EXPECT_LE(outcome.solution.cost, 217039 * 101 / 100);
  EXPECT_GE(outcome.solution.cost, 217039);
}

TEST(SolveAuto, GoesOnWhileTheGapIsNotFair) {
  auto problem = readProblemFile(DATA_DIR "/asplos-2025-iopddl-G.json.gz");
  ASSERT_TRUE(problem) << problem.status().message();
  auto gapOf = [](const Outcome &outcome) {
    return relativeGap(outcome.solution.cost, outcome.solution.lowerBound);
  };
  Options options{.work = 1'000'000};
  Outcome little = solveAuto(*problem, options);
  ASSERT_EQ(little.verdict, Verdict::Solved);
  ASSERT_GT(gapOf(little), 0.02);
  options.moreWork = 20'000'000'000;
  options.fairGap = 0.02;
  Outcome fair = solveAuto(*problem, options);
  EXPECT_LE(gapOf(fair), 0.02);
  EXPECT_GT(fair.work, little.work);
  options.moreWork = 3'000'000;
  options.fairGap = 0;
  EXPECT_LE(solveAuto(*problem, options).work, 3 * options.moreWork);
}

TEST(SolveAuto, StopsOnceItsBoundIsAtTheCutoff) {
  auto problem = readProblemFile(DATA_DIR "/asplos-2025-iopddl-G.json.gz");
  ASSERT_TRUE(problem) << problem.status().message();
  Options options;
  Outcome whole = solveAuto(*problem, options);
  options.cutoff = whole.solution.cost / 2;
  Outcome cut = solveAuto(*problem, options);
  EXPECT_LT(cut.work, whole.work);
  // The certificate's bound is in integers, a little below that of the search.
  EXPECT_GE(cut.solution.lowerBound * 1001 / 1000, *options.cutoff);
}

/// Two matmuls, y = x·A·B: per node the strategies replicated, column (the
/// result split), row (the result a partial sum, half the time each).
static Problem columnAndRow() {
  Problem problem;
  problem.nodes = {{"x", {}, {0}, {0}, {0, 1}},
                   {"xA", {}, {20, 10, 10}, {0, 0, 0}, {1, 2}},
                   {"xAB", {}, {20, 10, 10}, {0, 0, 0}, {2, 3}},
                   {"y", {}, {0}, {0}, {3, 4}}};
  // Operands: replicated and column want all of the row, row wants it split.
  // Gathers cost 4, an all-reduce 5, slicing nothing.
  problem.matrices = {{1, 3, {0, 0, 0}},
                      {3, 3, {0, 0, 0, 4, 4, 0, 5, 5, 3}},
                      {3, 1, {0, 4, 5}}};
  problem.edges = {{0, 1, 0, {}, {}}, {1, 2, 1, {}, {}}, {2, 3, 2, {}, {}}};
  return problem;
}

TEST(SolveAuto, FindsColumnThenRow) {
  Outcome outcome = solveAuto(columnAndRow());
  ASSERT_EQ(outcome.verdict, Verdict::Solved);
  EXPECT_EQ(outcome.solution.assignment, (std::vector<uint32_t>{0, 1, 2, 0}));
  EXPECT_EQ(outcome.solution.cost, 25);
}

TEST(SolveAuto, SaysWhatBindsWhenMemoryCannotSuffice) {
  Problem problem = columnAndRow();
  problem.nodes[1].usages = {9, 6, 7};
  problem.nodes[2].usages = {9, 5, 5};
  problem.nodes[2].live = {1, 3};
  problem.usageLimit = 10;
  Outcome outcome = solveAuto(problem);
  EXPECT_EQ(outcome.verdict, Verdict::Infeasible);
  EXPECT_EQ(outcome.message, "at time 1 at least 11 bytes are in use, 1 more "
                             "than the limit of 10");
}

TEST(SolveAuto, IsDeterministicAndSpendsNoMoreThanItsBudget) {
  Problem problem = randomProblem(Shape::Program, 7);
  Outcome first = solveAuto(problem), second = solveAuto(problem);
  EXPECT_EQ(first.solution.assignment, second.solution.assignment);
  EXPECT_EQ(first.work, second.work);
  Outcome least = solveAuto(problem, {.seed = 0, .work = 0});
  EXPECT_EQ(least.solution.assignment.size(), problem.nodes.size());
  EXPECT_LE(least.work, first.work);
}

TEST(SolveAuto, AnEmptyProblemHasAnEmptySolution) {
  Outcome outcome = solveAuto(Problem());
  EXPECT_EQ(outcome.verdict, Verdict::Solved);
  EXPECT_EQ(outcome.solution.cost, 0);
}

TEST(RelativeGap, IsOfTheCost) {
  EXPECT_EQ(relativeGap(100, 100), 0);
  EXPECT_EQ(relativeGap(200, 100), 0.5);
  EXPECT_EQ(relativeGap(-100, -150), 0.5);
  EXPECT_EQ(relativeGap(0, -1), 1);
  // Doubles would see no difference.
  Wide large = Wide(1) << 90;
  EXPECT_GT(relativeGap(large + 1, large), 0);
}

TEST(Stopped, EveryReasonHasAName) {
  EXPECT_EQ(stoppedName(Stopped::Finished), "finished");
  EXPECT_EQ(stoppedName(Stopped::Work), "work");
  EXPECT_EQ(stoppedName(Stopped::Time), "time");
  EXPECT_EQ(stoppedName(Stopped::Interrupted), "interrupted");
}
