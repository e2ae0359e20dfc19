//===- MemoryLimitTest.cpp ------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "test/Sample.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Plan/PlanModule.h"
#include "divisi/Plan/PlanRecord.h"
#include "lib/Plan/MemoryViews.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace divisi;

namespace {
class MemoryLimitTest : public testing::Test {
protected:
  MemoryLimitTest() {
    context_.loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                         spmd::SPMDDialect>();
  }

  /// On four devices, of which each holds between half of `limit` and twice as
  /// much: any plan its own, whatever it is.
  PlanOptions holdingAnything(int64_t limit);

  mlir::MLIRContext context_;
  int measured_ = 0, fitting_ = 0; ///< Plans that were asked about.
};
} // namespace

PlanOptions MemoryLimitTest::holdingAnything(int64_t limit) {
  PlanOptions options;
  options.grid.devices = 4;
  options.memoryLimit = limit;
  options.work = 20'000'000;
  measured_ = fitting_ = 0;
  options.measure = [this, limit](mlir::ModuleOp planned) {
    uint64_t drawn = uint64_t(fingerprintOf(planned)) % 1024;
    HeldMemory held = {"cpu", limit, limit / 2 + limit * int64_t(drawn) / 683,
                       "weights 7"};
    ++measured_;
    fitting_ += held.missing() <= 0;
    return std::vector<HeldMemory>{held};
  };
  return options;
}

/// Wherever a search asks whether to end: it ends with a plan that fits if it
/// has met one, else it says that it was interrupted, or that none fits.
TEST_F(MemoryLimitTest, EndsAnywhereWithThePlanThatItHas) {
  int plans = 0, none = 0;
  for (int64_t limit : {1'200'000, 1'700'000, 2'300'000, 3'500'000}) {
    int64_t after = 0, step = 1;
    for (bool isOver = false; !isOver; after += step) {
      PlanOptions options = holdingAnything(limit);
      std::atomic<int64_t> asks = after;
      options.control.stop.asks = &asks;
      auto module = mlir::parseSourceString<mlir::ModuleOp>(kMlp, &context_);
      Expected<PlanReport> report = planModule(*module, options);
      isOver = asks >= 0;
      // The later, the more alike.
      step = std::max<int64_t>(1, after / (test::sampleShare() == 1 ? 20 : 4));
      if (report) {
        ++plans;
        EXPECT_GT(fitting_, 0);
        EXPECT_LE(report->lowerBound, report->nanoseconds);
        EXPECT_FALSE(isOver && report->isCut());
      } else {
        ++none;
        EXPECT_EQ(fitting_, 0) << limit << " after " << after;
        EXPECT_EQ(report.status().code(),
                  isOver ? ExitCode::Infeasible : ExitCode::NoPlan)
            << report.status().message();
      }
    }
  }
  EXPECT_GT(plans, 10);
  EXPECT_GT(none, 10);
}

/// Who has a plan measures no other that would not be measured in time.
TEST_F(MemoryLimitTest, LeavesTimeWhereMeasuringTakesLong) {
  for (bool isLimited : {false, true}) {
    PlanOptions options = holdingAnything(2'300'000);
    options.measure = [measure = options.measure](mlir::ModuleOp planned) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      return measure(planned);
    };
    if (isLimited) {
      options.control.deadline = steadySeconds() + 0.5;
    }
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kMlp, &context_);
    Expected<PlanReport> report = planModule(*module, options);
    ASSERT_TRUE(report) << report.status().message();
    EXPECT_EQ(report->isCut(), isLimited);
    EXPECT_GE(fitting_, 1);
    EXPECT_EQ(measured_, isLimited ? 1 : 2);
  }
}

TEST_F(MemoryLimitTest, SaysWhatTheClosestPlanHolds) {
  PlanOptions options = holdingAnything(3'500'000);
  options.measure = [](mlir::ModuleOp) {
    return std::vector<HeldMemory>{{"cpu", 3'500'000, 3'500'001, "weights 7"}};
  };
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kMlp, &context_);
  EXPECT_EQ(
      planModule(*module, options).status().message(),
      "no plan was found that fits into the memory limit of 3500000 bytes "
      "per device (--memory-limit): the closest one holds 3500001 bytes "
      "(weights 7); raise --memory-limit or take more devices");
}

TEST(LadderTest, RungsAreTheSameForAllLimits) {
  for (double toDouble : {24.0, 64.0}) {
    plan::Ladder ladder(toDouble);
    for (int64_t limit :
         {int64_t(1'000'003), int64_t(1'010'000), int64_t(78'000'000'000)}) {
      EXPECT_EQ(ladder.limitAt(limit, 0), limit);
      EXPECT_LE(ladder.limitAt(limit, -1), limit);
      EXPECT_GT(ladder.limitAt(limit, 1), limit);
      for (int step : {-100, -64, -7, -2, -1, 1, 2, 13}) {
        int64_t rung = ladder.limitAt(limit, step);
        EXPECT_EQ(ladder.stepAt(limit, rung), step);
        EXPECT_EQ(ladder.limitAt(rung, -1), rung);
      }
    }
  }
}
