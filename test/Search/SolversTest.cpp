//===- SolversTest.cpp --------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Solvers.h"

#include "divisi/Search/ProblemIO.h"

#include <gtest/gtest.h>

#include <random>

using namespace divisi::search;

/// The cheapest assignment within the limit, by trying all of them.
static std::optional<Solution> bruteForce(const Problem &problem) {
  std::optional<Solution> best;
  std::vector<uint32_t> assignment(problem.nodes.size(), 0);
  while (true) {
    Solution solution = evaluate(problem, assignment);
    if (!check(problem, solution) && (!best || solution.cost < best->cost)) {
      best = solution;
    }
    size_t i = 0;
    while (i != assignment.size() &&
           ++assignment[i] == problem.nodes[i].costs.size()) {
      assignment[i++] = 0;
    }
    if (i == assignment.size()) {
      return best;
    }
  }
}

/// A program of 8 nodes: each follows up to two earlier ones.
static Problem randomProblem(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](unsigned bound) { return unsigned(random() % bound); };
  Problem problem;
  for (unsigned i = 0; i != 8; ++i) {
    Node &node = problem.nodes.emplace_back();
    node.live = {i, i + 1 + below(4)};
    for (unsigned s = 0, count = 1 + below(4); s != count; ++s) {
      node.costs.push_back(below(50));
      node.usages.push_back(below(20));
    }
    for (unsigned e = 0; i != 0 && e != 2; ++e) {
      Edge &edge = problem.edges.emplace_back();
      edge = {below(i), i, uint32_t(problem.matrices.size()), {}, {}};
      Matrix &matrix = problem.matrices.emplace_back();
      matrix.rows = uint32_t(problem.nodes[edge.from].costs.size());
      matrix.columns = uint32_t(node.costs.size());
      for (unsigned k = 0; k != matrix.rows * matrix.columns; ++k) {
        matrix.entries.push_back(below(8) ? below(60) : kInfeasible);
      }
      if (below(4) == 0) {
        edge.usages = uint32_t(problem.matrices.size());
        edge.live = {i, i + 1};
        Matrix usages = matrix;
        for (int64_t &entry : usages.entries) {
          entry = below(10);
        }
        problem.matrices.push_back(usages);
      }
    }
  }
  return problem;
}

TEST(SolveAuto, FindsTheOptimumOfSmallProblems) {
  for (unsigned seed = 0; seed != 60; ++seed) {
    Problem problem = randomProblem(seed);
    auto best = bruteForce(problem);
    Outcome outcome = solveAuto(problem);
    ASSERT_EQ(outcome.status == Status::Solved, best.has_value()) << seed;
    if (best) {
      EXPECT_EQ(check(problem, outcome.solution), std::nullopt) << seed;
      EXPECT_EQ(toString(outcome.solution.cost), toString(best->cost)) << seed;
    }
  }
}

// Under a limit the solver is a heuristic: it must stay within it, seldom miss
// the optimum, and never give up where the slightly looser limit has a plan.
TEST(SolveAuto, StaysWithinTheLimit) {
  int solvable = 0, solved = 0, optimal = 0;
  for (unsigned seed = 0; seed != 100; ++seed) {
    Problem problem = randomProblem(seed);
    Outcome free = solveAuto(problem);
    if (free.status != Status::Solved) {
      continue;
    }
    problem.usageLimit = int64_t(free.solution.peak) * 3 / 4;
    auto best = bruteForce(problem);
    Outcome outcome = solveAuto(problem);
    solvable += best.has_value();
    if (outcome.status == Status::Solved) {
      ++solved;
      EXPECT_EQ(check(problem, outcome.solution), std::nullopt) << seed;
      optimal += best && outcome.solution.cost == best->cost;
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
  ASSERT_EQ(outcome.status, Status::Solved) << outcome.message;
  EXPECT_EQ(outcome.solution.cost, bruteForce(*problem)->cost);
}

TEST(SolveAuto, SolvesInstanceGWithinAPercent) {
  auto problem = readProblemFile(DATA_DIR "/asplos-2025-iopddl-G.json.gz");
  ASSERT_TRUE(problem) << problem.status().message();
  Outcome outcome = solveAuto(*problem);
  ASSERT_EQ(outcome.status, Status::Solved) << outcome.message;
  EXPECT_EQ(check(*problem, outcome.solution), std::nullopt);
  EXPECT_LE(outcome.solution.cost, 217039 * 101 / 100);
  EXPECT_GE(outcome.solution.cost, 217039);
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
  ASSERT_EQ(outcome.status, Status::Solved);
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
  EXPECT_EQ(outcome.status, Status::Infeasible);
  EXPECT_EQ(outcome.message, "at time 1 at least 11 bytes are in use, 1 more "
                             "than the limit of 10");
}

TEST(SolveAuto, IsDeterministicAndSpendsNoMoreThanItsBudget) {
  Problem problem = randomProblem(7);
  Outcome first = solveAuto(problem), second = solveAuto(problem);
  EXPECT_EQ(first.solution.assignment, second.solution.assignment);
  EXPECT_EQ(first.work, second.work);
  Outcome least = solveAuto(problem, {.seed = 0, .work = 0});
  EXPECT_EQ(least.solution.assignment.size(), problem.nodes.size());
  EXPECT_LE(least.work, first.work);
}

TEST(SolveAuto, AnEmptyProblemHasAnEmptySolution) {
  Outcome outcome = solveAuto(Problem());
  EXPECT_EQ(outcome.status, Status::Solved);
  EXPECT_EQ(outcome.solution.cost, 0);
}
