//===- OraclesTest.cpp - exact, ilp and mcmc on their own -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseCount.h"
#include "RandomProblems.h"

#include "divisi/Search/Solvers.h"
#include "lib/Search/Mcmc/Mcmc.h"
#include "test/Sample.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace divisi::search;

/// `count` nodes of `choices` strategies, each joined to the `reach` before it;
/// within `share` of the most memory that could be used at once.
static Problem band(uint32_t count, uint32_t choices, uint32_t reach,
                    uint64_t seed, std::optional<double> share) {
  Dice dice(seed);
  Problem problem;
  for (uint32_t v = 0; v != count; ++v) {
    Node &node = problem.nodes.emplace_back();
    node.live = {v, v + 4};
    for (uint32_t s = 0; s != choices; ++s) {
      node.costs.push_back(int64_t(dice.below(100)));
      node.usages.push_back(int64_t(10 + dice.below(90)));
    }
    for (uint32_t u = v - std::min(v, reach); u != v; ++u) {
      problem.edges.push_back(
          {u, v, uint32_t(problem.matrices.size()), {}, {}});
      Matrix &matrix = problem.matrices.emplace_back();
      matrix.rows = matrix.columns = choices;
      for (uint32_t i = 0; i != choices * choices; ++i) {
        matrix.entries.push_back(dice.oneIn(8) ? kInfeasible
                                               : int64_t(dice.below(100)));
      }
    }
  }
  if (share) {
    problem.usageLimit = int64_t(*share * 400);
  }
  return problem;
}

// Too many assignments to try, and tables that have to be split: two solvers
// that share no idea must agree.
TEST(SolveExact, AgreesWithTheIntegerProgram) {
  int solved = 0;
  CaseCount cases("bands by exact and ilp");
  uint64_t seeds = divisi::test::sampleSize<uint64_t>(6, 4);
  for (uint64_t seed = 0; seed != seeds; ++seed, ++cases) {
    uint32_t reach = seed % 2 == 0 ? 3 : 7;
    Problem problem =
        band(11, reach == 3 ? 5 : 4, reach, seed, seed < 2 ? 1.0 : 0.5);
    Outcome exact = solveExact(problem), ilp = solveIlp(problem);
    ASSERT_EQ(exact.stopped, Stopped::Finished);
    if (exact.verdict == Verdict::Infeasible) {
      EXPECT_EQ(ilp.verdict, Verdict::NotFound) << seed;
      if (exact.limitEnough) {
        problem.usageLimit = exact.limitEnough;
        EXPECT_EQ(solveIlp(problem).verdict, Verdict::Solved) << seed;
        *problem.usageLimit -= 1;
        EXPECT_EQ(solveIlp(problem).verdict, Verdict::NotFound) << seed;
      }
      continue;
    }
    ++solved;
    ASSERT_EQ(exact.verdict, Verdict::Solved) << exact.message;
    ASSERT_EQ(ilp.verdict, Verdict::Solved) << ilp.message;
    EXPECT_EQ(check(problem, exact.solution), std::nullopt);
    EXPECT_EQ(check(problem, ilp.solution), std::nullopt);
    EXPECT_EQ(toString(exact.solution.cost), toString(ilp.solution.cost))
        << seed;
  }
  EXPECT_GT(solved, 1);
}

TEST(SolveExact, EliminatesLongChainsWithoutSearching) {
  Problem problem = band(3000, 6, 1, 1, std::nullopt);
  Outcome outcome = solveExact(problem);
  ASSERT_EQ(outcome.verdict, Verdict::Solved) << outcome.message;
  EXPECT_EQ(outcome.stopped, Stopped::Finished);
  EXPECT_EQ(check(problem, outcome.solution), std::nullopt);
  EXPECT_LT(outcome.work, 10'000'000);
}

TEST(SolveExact, SaysHowLargeTheTablesWouldBe) {
  Outcome outcome = solveExact(band(400, 5, 30, 1, std::nullopt));
  EXPECT_EQ(outcome.verdict, Verdict::NotFound);
  EXPECT_EQ(outcome.message.find("not solved exactly: elimination would need "
                                 "about 2^"),
            0u)
      << outcome.message;
}

// A limit of no seconds is over at the first look, however fast the machine is.
TEST(SolveExact, StopsWhenAnythingRunsOut) {
  Problem problem = band(60, 8, 12, 3, 0.4);
  Outcome outcome = solveExact(problem, {.work = 100'000});
  EXPECT_EQ(outcome.stopped, Stopped::Work);
  EXPECT_NE(outcome.verdict, Verdict::Infeasible);
  outcome = solveExact(problem, {.work = INT64_MAX, .timeLimit = 0});
  EXPECT_EQ(outcome.stopped, Stopped::Time);
  std::atomic<bool> stop = true;
  outcome = solveExact(problem, {.stop = &stop});
  EXPECT_EQ(outcome.stopped, Stopped::Interrupted);
}

TEST(SolveIlp, FindsTheOptimumOfSmallProblems) {
  CaseCount cases("small problems by ilp");
  for (Shape shape : kShapes) {
    for (uint64_t seed = 0; seed != 6; ++seed, ++cases) {
      Problem problem = randomProblem(shape, seed);
      Dice dice(seed);
      problem.usageLimit = limitOf(LimitKind::Tight, bruteForce(problem), dice);
      Reference reference = bruteForce(problem);
      Outcome outcome = solveIlp(problem);
      ASSERT_EQ(outcome.verdict == Verdict::Solved,
                reference.optimum.has_value())
          << problem.name << ": " << outcome.message;
      if (!reference.optimum) {
        continue;
      }
      EXPECT_EQ(outcome.stopped, Stopped::Finished);
      // Doubles: to a few parts in a million of the largest cost.
      double optimum = double(*reference.optimum);
      EXPECT_LE(double(outcome.solution.cost - *reference.optimum),
                1e-6 * std::abs(optimum))
          << problem.name;
    }
  }
}

TEST(SolveIlp, RefusesWhatIsTooLarge) {
  Problem problem = band(20'000, 10, 2, 1, std::nullopt);
  Outcome outcome = solveIlp(problem);
  EXPECT_EQ(outcome.verdict, Verdict::NotFound);
  EXPECT_EQ(outcome.message.find("too large for an integer program"), 0u)
      << outcome.message;
}

TEST(SolveIlp, StopsWhenAnythingRunsOut) {
  Problem problem = band(24, 6, 5, 3, 0.5);
  Outcome outcome = solveIlp(problem, {.work = 1'000'000});
  EXPECT_EQ(outcome.stopped, Stopped::Work) << outcome.message;
  outcome = solveIlp(problem, {.work = INT64_MAX, .timeLimit = 0});
  EXPECT_EQ(outcome.stopped, Stopped::Time) << outcome.message;
  std::atomic<bool> stop = true;
  outcome = solveIlp(problem, {.stop = &stop});
  EXPECT_EQ(outcome.stopped, Stopped::Interrupted) << outcome.message;
}

// After thousands of moves, taken and refused, of one node and of many.
TEST(CostJudge, KeepsTheCostAndThePeakOfItsPlan) {
  CaseCount cases("moves judged");
  for (Shape shape : kShapes) {
    Problem problem = randomProblem(shape, 11);
    problem.usageLimit = 30;
    Options options;
    Budget budget(options);
    CostJudge judge(problem, simplePlan(problem, budget), budget);
    Random random(3);
    WithFollowers moves(problem, budget);
    std::vector<Change> move;
    for (int i = 0; i != 2000; ++i) {
      moves.propose(judge.plan(), random, move);
      if (move.empty()) {
        break;
      }
      ++cases;
      std::vector<uint32_t> before = judge.plan();
      double most = judge.cost() * (0.8 + 0.6 * random.unit());
      if (!judge.tryMove(move, most)) {
        ASSERT_EQ(judge.plan(), before);
      } else {
        for (Change change : move) {
          before[change.node] = change.strategy;
        }
        ASSERT_EQ(judge.plan(), before);
      }
      auto cost = costOf(problem, judge.plan());
      ASSERT_EQ(judge.numForbidden() == 0, cost.has_value()) << i;
      Wide excess = std::max<Wide>(peakOf(problem, judge.plan()) - 30, 0);
      ASSERT_EQ(toString(judge.excess()), toString(excess)) << i;
      if (cost && excess == 0) {
        ASSERT_EQ(judge.cost(), double(*cost)) << i;
      }
    }
  }
}

TEST(Metropolis, TakesUphillMovesAsOftenAsItSays) {
  Metropolis acceptance(10);
  Random random(5);
  int better = 0, worse = 0;
  for (int i = 0; i != 20'000; ++i) {
    better += acceptance.most(100, random) >= 100;
    worse += acceptance.most(100, random) >= 110; // exp(-10 * 0.1)
  }
  EXPECT_EQ(better, 20'000);
  EXPECT_NEAR(worse / 20'000.0, std::exp(-1), 0.015);
}

TEST(SolveMcmc, FindsTheOptimumOfAChainAndStopsThere) {
  Problem problem = band(6, 4, 1, 2, std::nullopt);
  Outcome exact = solveExact(problem);
  Outcome outcome = solveMcmc(problem, {.work = 20'000'000});
  ASSERT_EQ(outcome.verdict, Verdict::Solved) << outcome.message;
  EXPECT_EQ(outcome.solution.cost, exact.solution.cost);
  EXPECT_EQ(outcome.stopped, Stopped::Finished);
  EXPECT_LT(outcome.work, 11'000'000); // Half of the budget found no better.
}

TEST(SolveMcmc, StopsWhenAnythingRunsOut) {
  Problem problem = band(2000, 8, 2, 1, std::nullopt);
  Outcome outcome = solveMcmc(problem, {.work = 10'000'000});
  EXPECT_EQ(outcome.stopped, Stopped::Work);
  ASSERT_EQ(outcome.verdict, Verdict::Solved);
  EXPECT_EQ(check(problem, outcome.solution), std::nullopt);
  outcome = solveMcmc(problem, {.work = INT64_MAX, .timeLimit = 0});
  EXPECT_EQ(outcome.stopped, Stopped::Time);
  std::atomic<bool> stop = true;
  outcome = solveMcmc(problem, {.work = INT64_MAX, .stop = &stop});
  EXPECT_EQ(outcome.stopped, Stopped::Interrupted);
}
