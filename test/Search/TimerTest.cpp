//===- TimerTest.cpp - Metropolis-Hastings by a timer ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Solvers.h"

#include "CaseCount.h"
#include "RandomProblems.h"

#include <gtest/gtest.h>

#include <functional>

using namespace divisi::search;

namespace {
/// Nodes of even and of odd numbers run beside each other; edges cost nothing.
/// It has no memory of its own but the assignment.
class TwoQueues : public AssignmentTimer {
public:
  explicit TwoQueues(const Problem &problem) : problem_(problem) {}

  Wide timeOf(const std::vector<uint32_t> &assignment) const {
    Wide queues[2] = {0, 0};
    for (size_t node = 0; node != assignment.size(); ++node) {
      int64_t cost = problem_.nodes[node].costs[assignment[node]];
      queues[node % 2] += cost >= kInfeasible ? 0 : cost;
    }
    return std::max(queues[0], queues[1]);
  }
  Wide begin(const std::vector<uint32_t> &assignment) override {
    now_ = then_ = assignment;
    return timeOf(now_);
  }
  Wide propose(std::span<const Change> changes) override {
    ++proposals;
    then_ = now_;
    for (const Change &change : changes) {
      then_[change.node] = change.strategy;
    }
    return timeOf(then_);
  }
  void accept() override { now_ = then_; }
  int64_t work() const override { return 10; }

  int proposals = 0;

private:
  const Problem &problem_;
  std::vector<uint32_t> now_, then_;
};
} // namespace

static bool isFeasible(const Problem &problem,
                       const std::vector<uint32_t> &assignment) {
  for (size_t node = 0; node != assignment.size(); ++node) {
    if (problem.nodes[node].costs[assignment[node]] >= kInfeasible) {
      return false;
    }
  }
  for (const Edge &edge : problem.edges) {
    if (problem.matrices[edge.costs].at(assignment[edge.from],
                                        assignment[edge.to]) >= kInfeasible) {
      return false;
    }
  }
  return !exceeded(problem, evaluate(problem, assignment));
}

/// The least that a timer says of any assignment within the limits.
static std::optional<Wide> leastTime(const Problem &problem,
                                     const TwoQueues &timer) {
  std::optional<Wide> least;
  std::vector<uint32_t> assignment(problem.nodes.size());
  std::function<void(size_t)> assign = [&](size_t node) {
    if (node == assignment.size()) {
      if (isFeasible(problem, assignment)) {
        Wide time = timer.timeOf(assignment);
        least = std::min(least.value_or(time), time);
      }
      return;
    }
    for (uint32_t s = 0; s != problem.nodes[node].costs.size(); ++s) {
      assignment[node] = s;
      assign(node + 1);
    }
  };
  assign(0);
  return least;
}

// The sum would lead elsewhere: a timer that is not asked misses many.
TEST(SolveMcmc, FindsWhatTheTimerLikesBest) {
  CaseCount cases("small problems by mcmc with a timer");
  int solvable = 0, best = 0, bestOfSums = 0, proposals = 0;
  for (unsigned seed = 0; seed != 60; ++seed) {
    Problem problem = randomProblem(Shape::Program, seed);
    double count = 1;
    for (const Node &node : problem.nodes) {
      count *= double(node.costs.size());
    }
    if (count > 200'000) {
      continue;
    }
    auto timer = std::make_shared<TwoQueues>(problem);
    std::optional<Wide> least = leastTime(problem, *timer);
    Options options{.work = 500'000};
    Outcome sums = solveMcmc(problem, options);
    EXPECT_FALSE(sums.timed);
    options.timer = timer;
    Outcome outcome = solveMcmc(problem, options);
    if (outcome.verdict != Verdict::Solved) {
      continue;
    }
    ++cases;
    ASSERT_TRUE(least) << seed;
    ASSERT_TRUE(outcome.timed) << seed;
    EXPECT_EQ(check(problem, outcome.solution), std::nullopt) << seed;
    EXPECT_TRUE(*outcome.timed == timer->timeOf(outcome.solution.assignment));
    EXPECT_TRUE(*outcome.timed >= *least) << seed;
    ++solvable;
    proposals += timer->proposals;
    best += *outcome.timed == *least;
    bestOfSums += sums.verdict == Verdict::Solved &&
                  timer->timeOf(sums.solution.assignment) == *least;
  }
  EXPECT_GT(solvable, 20);
  EXPECT_GT(proposals, 1000);
  EXPECT_GE(best, solvable * 9 / 10);
  EXPECT_LT(bestOfSums, solvable * 7 / 10);
}

TEST(SolveMcmc, BeginsWhereItIsTold) {
  Problem problem;
  problem.nodes = {{"a", {}, {3, 1}, {0, 0}, {0, 1}},
                   {"b", {}, {3, 1}, {0, 0}, {0, 1}}};
  Options options{.work = 1};
  options.first = {1, 0};
  Outcome outcome = solveMcmc(problem, options);
  ASSERT_EQ(outcome.verdict, Verdict::Solved);
  EXPECT_EQ(outcome.solution.assignment, options.first);
}
