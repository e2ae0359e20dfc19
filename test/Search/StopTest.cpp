//===- StopTest.cpp - Searches that end wherever they ask -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProblems.h"
#include "test/Sample.h"

#include "divisi/Search/Solvers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

using namespace divisi;
using namespace divisi::search;

/// Ends a run at each place where it asks, the later the fewer of them: what it
/// answers then is right, and it says that it was ended. Returns how often it
/// was asked at most.
static int64_t endEverywhere(const Solver &solver, const Problem &problem,
                             bool isFeasible) {
  for (int64_t after = 0;;
       after += std::max<int64_t>(1, after / (test::isSweep() ? 8 : 2))) {
    std::atomic<int64_t> asks = after;
    Options options;
    options.work = 20'000'000;
    options.threads = 2;
    options.stop.asks = &asks;
    Outcome outcome = solver.solve(problem, options);
    bool isOver = asks >= 0;
    if (outcome.verdict == Verdict::Solved) {
      EXPECT_EQ(check(problem, outcome.solution), std::nullopt);
      EXPECT_TRUE(isFeasible);
    }
    if (outcome.verdict == Verdict::Infeasible) {
      EXPECT_FALSE(isFeasible);
    }
    if (isOver) {
      EXPECT_NE(outcome.stopped, Stopped::Interrupted);
      return after;
    }
    if (outcome.verdict == Verdict::NotFound) {
      EXPECT_EQ(outcome.stopped, Stopped::Interrupted) << outcome.message;
    }
  }
}

TEST(StopTest, EverySolverEndsAnywhereWithWhatItHas) {
  int64_t most = 0;
  int rounds = test::sampleSize(100, /*least=*/6);
  for (int round = 0; round < rounds; ++round) {
    Problem problem =
        limitedProblem(uint64_t(round), 2000, /*enrich=*/round % 2 == 1);
    std::optional<Solution> cheapest = search::cheapest(problem);
    for (const Solver &solver : solvers()) {
      SCOPED_TRACE(std::string(solver.name) + " in round " +
                   std::to_string(round));
      most =
          std::max(most, endEverywhere(solver, problem, cheapest.has_value()));
    }
  }
  EXPECT_GT(most, 8);
}
