//===- PlanModuleTest.cpp -------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlanModule.h"

#include "Programs.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Search/ProblemIO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <set>

using namespace divisi;

namespace {
class PlanTest : public testing::Test {
protected:
  PlanTest() {
    context_.loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                         spmd::SPMDDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  }

  static std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os);
    return text;
  }

  ExitCode exitCodeOf(const PlanOptions &options) {
    auto module = parse(kMlp);
    Expected<PlanReport> report = planModule(*module, options);
    return report ? ExitCode::Ok : report.status().code();
  }

  mlir::MLIRContext context_;
};
} // namespace

static PlanOptions onDevices(int64_t count) {
  PlanOptions options;
  options.grid.devices = count;
  return options;
}

TEST_F(PlanTest, FailuresSayWhatKindTheyAre) {
  EXPECT_EQ(exitCodeOf(onDevices(4)), ExitCode::Ok);
  EXPECT_EQ(exitCodeOf(onDevices(0)), ExitCode::Usage);
  PlanOptions options = onDevices(4);
  options.grid.tensorParallel = 3;
  EXPECT_EQ(exitCodeOf(options), ExitCode::Usage);
  options = onDevices(4);
  options.memoryLimit = 1000;
  EXPECT_EQ(exitCodeOf(options), ExitCode::Infeasible);
  options = onDevices(4);
  options.cluster = "abacus:4";
  EXPECT_EQ(exitCodeOf(options), ExitCode::Usage);
}

TEST_F(PlanTest, TheSameSeedGivesTheSamePlan) {
  for (const char *solver : {"auto", "random"}) {
    PlanOptions options = onDevices(6);
    options.solver = solver;
    options.seed = 11;
    auto first = parse(kMlp), second = parse(kMlp);
    ASSERT_TRUE(planModule(*first, options)) << solver;
    ASSERT_TRUE(planModule(*second, options)) << solver;
    EXPECT_EQ(print(*first), print(*second)) << solver;
  }
}

TEST_F(PlanTest, PlanningAgainKeepsThePlan) {
  auto module = parse(kMlp);
  Expected<PlanReport> first = planModule(*module, onDevices(4));
  ASSERT_TRUE(first);
  std::string plan = print(*module);
  auto again = parse(plan);
  ASSERT_TRUE(again);
  Expected<PlanReport> second = planModule(*again, onDevices(4));
  ASSERT_TRUE(second);
  EXPECT_EQ(print(*again), plan);
  EXPECT_EQ(second->nanoseconds, first->nanoseconds);
}

TEST_F(PlanTest, MoreDevicesAreNeverSlower) {
  int64_t before = INT64_MAX;
  for (int64_t devices = 1; devices <= 16; ++devices) {
    auto module = parse(kMlp);
    Expected<PlanReport> report = planModule(*module, onDevices(devices));
    ASSERT_TRUE(report);
    EXPECT_LE(report->nanoseconds, before) << devices;
    EXPECT_LE(report->lowerBound, report->nanoseconds);
    before = report->nanoseconds;
  }
}

/// Two dimensions of 2 that may be split, and a third that must stay whole.
TEST_F(PlanTest, DevicesMayStayIdle) {
  const char *text = R"(
    func.func @f(%x: tensor<2x2x65536xf32>) -> tensor<2x2x65536xf32> {
      %y = nn.softmax %x {axis = 2 : i64, log = false} :
        (tensor<2x2x65536xf32>) -> tensor<2x2x65536xf32>
      return %y : tensor<2x2x65536xf32>
    })";
  auto five = parse(text), four = parse(text);
  Expected<PlanReport> onFive = planModule(*five, onDevices(5));
  Expected<PlanReport> onFour = planModule(*four, onDevices(4));
  ASSERT_TRUE(onFive && onFour);
  EXPECT_EQ(onFive->nanoseconds, onFour->nanoseconds);
  EXPECT_EQ(onFive->notes,
            std::vector<std::string>{
                "the plan is for 4 of 5 devices and leaves the others idle: no "
                "plan that was found for all of them is faster"});
  EXPECT_EQ(onFour->notes, std::vector<std::string>());
}

TEST_F(PlanTest, ABoundThatDoesNotSpeakOfAllSaysSo) {
  PlanOptions options = onDevices(4);
  EXPECT_EQ(planModule(*parse(kMlp), options)->notes,
            std::vector<std::string>());
  options.maxStrategies = 3;
  Expected<PlanReport> report = planModule(*parse(kMlp), options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->notes,
            std::vector<std::string>{
                "4 operators have more than 3 strategies, and 4 tensors have "
                "more than "
                "3 places to rest: only the individually "
                "cheapest were searched, and the bound is relative to these"});
}

// x, a, b, four operators, the result: x has two users and is a node anyway.
TEST_F(PlanTest, TheProblemCanBeWrittenAndSolvedElsewhere) {
  auto module = parse(kMlp);
  Expected<search::Problem> problem = planningProblem(*module, onDevices(4));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->nodes.size(), 8u);
  // Others are there for the memory that operands take while they are used.
  auto isPriced = [&](const search::Edge &edge) {
    const std::vector<int64_t> &costs = problem->matrices[edge.costs].entries;
    return llvm::any_of(costs, [](int64_t cost) { return cost != 0; });
  };
  // Two of the operators may go on in the kernels that make their operands.
  EXPECT_EQ(llvm::count_if(problem->edges, isPriced), 10);
  auto read = search::readProblem(search::writeProblem(*problem));
  ASSERT_TRUE(read) << read.status().message();
  search::Outcome outcome = search::solveAuto(*read);
  ASSERT_EQ(outcome.verdict, search::Verdict::Solved);
  EXPECT_EQ(search::check(*problem, outcome.solution), std::nullopt);
  auto other = parse(kMlp);
  Expected<PlanReport> report = planModule(*other, onDevices(4));
  ASSERT_TRUE(report);
  // Times 2^20, and less than 2^20 for what rests.
  EXPECT_EQ(report->nanoseconds, int64_t(outcome.solution.cost >> 20));
}

//===----------------------------------------------------------------------===//
// The judge
//===----------------------------------------------------------------------===//

TEST_F(PlanTest, TheJudgeTakesAnotherPlanThanTheLeastSum) {
  PlanOptions options = onDevices(4);
  options.grid.tensorParallel = 4;
  options.judge = "sum";
  std::vector<std::string> plans;
  options.simulate = [&](mlir::ModuleOp planned) {
    plans.push_back(print(planned));
    return std::optional<int64_t>();
  };
  auto bySum = parse(kMlp);
  Expected<PlanReport> sum = planModule(*bySum, options);
  ASSERT_TRUE(sum) << sum.status().message();
  EXPECT_TRUE(plans.empty());
  EXPECT_FALSE(sum->judged || sum->simulated || sum->leastSum);
  // What cannot be simulated changes nothing.
  options.judge = "simulated";
  auto unknown = parse(kMlp);
  Expected<PlanReport> same = planModule(*unknown, options);
  ASSERT_TRUE(same) << same.status().message();
  EXPECT_EQ(plans.size(), 1u);
  EXPECT_EQ(same->nanoseconds, sum->nanoseconds);
  EXPECT_FALSE(same->judged);
  // Each plan is said to take half of the one before.
  plans.clear();
  options.simulate = [&](mlir::ModuleOp planned) {
    plans.push_back(print(planned));
    return std::optional(sum->nanoseconds * 2 >> plans.size());
  };
  auto judged = parse(kMlp);
  Expected<PlanReport> report = planModule(*judged, options);
  ASSERT_TRUE(report) << report.status().message();
  ASSERT_TRUE(report->judged && report->simulated);
  EXPECT_EQ(*report->judged, int64_t(plans.size()));
  EXPECT_EQ(*report->simulated, sum->nanoseconds * 2 >> plans.size());
  EXPECT_EQ(report->leastSum.has_value(), plans.size() > 1);
  EXPECT_EQ(report->leastSum.value_or(report->nanoseconds), sum->nanoseconds);
  EXPECT_EQ(report->lowerBound, sum->lowerBound);
  std::set<std::string> others(plans.begin(), plans.end());
  EXPECT_EQ(others.size(), plans.size());
}

TEST_F(PlanTest, TheJudgeIsOneOfTwo) {
  PlanOptions options = onDevices(4);
  options.judge = "oracle";
  auto module = parse(kMlp);
  Expected<PlanReport> report = planModule(*module, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.status().code(), ExitCode::Usage);
  EXPECT_EQ(report.status().message(),
            "what decides between plans is 'oracle', expected simulated or "
            "sum");
}

//===----------------------------------------------------------------------===//
// Cut short
//===----------------------------------------------------------------------===//

/// Where the solver proves nothing, only the budget or a cut ends it.
static PlanOptions withoutEnd() {
  PlanOptions options = onDevices(4);
  options.solver = "mcmc";
  options.work = std::numeric_limits<int64_t>::max();
  return options;
}

TEST_F(PlanTest, StopKeepsTheBestPlanSoFar) {
  std::atomic<bool> stop = false;
  PlanOptions options = withoutEnd();
  options.control.stop = &stop;
  options.control.onProgress = [&](const search::Progress &line) {
    stop = stop || line.cost.has_value();
  };
  auto module = parse(kMlp);
  Expected<PlanReport> report = planModule(*module, options);
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_EQ(report->stopped, search::Stopped::Interrupted);
  EXPECT_NE(print(*module).find("spmd.split"), std::string::npos);
}

TEST_F(PlanTest, DeadlineKeepsTheBestPlanSoFar) {
  PlanOptions options = withoutEnd();
  options.control.deadline = steadySeconds() + 1;
  auto module = parse(kMlp);
  Expected<PlanReport> report = planModule(*module, options);
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_EQ(report->stopped, search::Stopped::Time);
}

TEST_F(PlanTest, WithoutAPlanSoFarThereIsNone) {
  std::atomic<bool> stop = true;
  PlanOptions stopped = onDevices(4), late = onDevices(4);
  stopped.control.stop = &stop;
  late.control.deadline = steadySeconds() - 1;
  for (auto [options, message] :
       {std::pair(stopped, "interrupted while the planning problem was built, "
                           "before the first plan"),
        std::pair(late, "the time limit came while the planning problem was "
                        "built, before the first plan; a larger --time-limit "
                        "leaves time for one")}) {
    auto module = parse(kMlp);
    Expected<PlanReport> report = planModule(*module, options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.status().code(), ExitCode::NoPlan);
    EXPECT_EQ(report.status().message(), message);
    EXPECT_EQ(planningProblem(*module, options).status().code(),
              ExitCode::NoPlan);
  }
}

TEST_F(PlanTest, BuildingTellsHowItGoesOn) {
  int lines = 0;
  PlanOptions options = onDevices(4);
  options.control.onProgress = [&](const search::Progress &line) {
    lines += line.by == kBuildingProblem;
  };
  auto module = parse(kMlp);
  ASSERT_TRUE(planModule(*module, options));
  // Two products, two others, globals, the argument, routes between them.
  EXPECT_GT(lines, 10);
}

/// With the last line about the problem of the only grid, before the solver's
/// first.
TEST_F(PlanTest, StopBeforeTheFirstAnswerSaysSo) {
  std::atomic<bool> stop = false;
  int lines = 0, last = 0;
  PlanOptions options = onDevices(4);
  options.grid.mesh = "2x2";
  options.control.stop = &stop;
  options.control.onProgress = [&](const search::Progress &line) {
    lines += line.by == kBuildingProblem;
    stop = stop || lines == last;
  };
  auto first = parse(kMlp), second = parse(kMlp);
  ASSERT_TRUE(planModule(*first, options));
  last = std::exchange(lines, 0);
  Expected<PlanReport> report = planModule(*second, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.status().code(), ExitCode::NoPlan);
  EXPECT_EQ(report.status().message(),
            "interrupted while plans were searched, before the first plan");
}

TEST_F(PlanTest, WhatDoesNotStrikeDecidesNothing) {
  std::atomic<bool> stop = false;
  PlanOptions watched = onDevices(6);
  watched.control.stop = &stop;
  watched.control.deadline = steadySeconds() + 1000;
  auto first = parse(kMlp), second = parse(kMlp);
  ASSERT_TRUE(planModule(*first, watched));
  ASSERT_TRUE(planModule(*second, onDevices(6)));
  EXPECT_EQ(print(*first), print(*second));
}
