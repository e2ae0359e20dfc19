//===- AlternativesTest.cpp -----------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/Alternatives.h"

#include "Programs.h"

#include "PlanPrice.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Plan/PlanModule.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

using namespace divisi;
using testing::HasSubstr;

namespace {
/// On devices that fuse, and on others.
class AlternativesTest : public testing::TestWithParam<const char *> {
protected:
  AlternativesTest() {
    context_.loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                         spmd::SPMDDialect>();
    cluster_ = *findCluster(GetParam());
  }

  static PlanOptions fourDevices() {
    PlanOptions options;
    options.cluster = GetParam();
    options.grid.devices = 4;
    options.gap = 0;
    return options;
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  }

  mlir::MLIRContext context_;
  Cluster cluster_;
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Machines, AlternativesTest,
                         testing::Values("cpu:4", "dgx-h100:8"));

TEST_P(AlternativesTest, NothingIsCheaperThanAnOptimalPlan) {
  auto module = parse(kMlp);
  Expected<PlanReport> report = planModule(*module, fourDevices());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->nanoseconds, report->lowerBound);
  auto plan = PlanAlternatives::of(*module, cluster_);
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->nanoseconds(), report->nanoseconds);
  // Four operators, two globals, the argument and the result.
  ASSERT_EQ(plan->decisions().size(), 8u);
  for (size_t i = 0; i != plan->decisions().size(); ++i) {
    std::vector<Alternative> all = plan->alternatives(i);
    ASSERT_GT(all.size(), 1u);
    EXPECT_TRUE(all.front().isChosen);
    EXPECT_EQ(all.front().growth, 0);
    EXPECT_EQ(all.front().peakBytes, report->peakBytes);
    EXPECT_EQ(all.front().adaptedGrowth, 0);
    int chosen = 0;
    std::optional<int64_t> last = 0;
    for (const Alternative &other : all) {
      chosen += other.isChosen;
      if (other.growth) {
        EXPECT_GE(*other.growth, *last);
        last = other.growth;
      }
      if (other.adaptedGrowth) {
        EXPECT_GE(*other.adaptedGrowth, 0);
        EXPECT_LE(*other.adaptedGrowth, other.growth.value_or(INT64_MAX));
      }
    }
    EXPECT_EQ(chosen, 1);
  }
}

/// The plan with the ReLU replicated: worse, and not what a solver says.
TEST_P(AlternativesTest, AGrowthIsWhatPlanningWithTheStrategyCosts) {
  auto module = parse(kMlp);
  Expected<PlanReport> best = planModule(*module, fourDevices());
  ASSERT_TRUE(best);
  auto plan = PlanAlternatives::of(*module, cluster_);
  ASSERT_TRUE(plan);
  for (size_t i = 0; i != plan->decisions().size(); ++i) {
    if (!llvm::isa<nn::ReluOp>(plan->decisions()[i].op)) {
      continue;
    }
    for (const Alternative &other : plan->alternatives(i)) {
      auto pinned = parse(kMlp);
      ASSERT_TRUE(planModule(*pinned, fourDevices()));
      pinned->walk([&](mlir::Operation *op) {
        // All but the ReLU stay; it gets the other strategy.
        if (llvm::isa<nn::ReluOp>(op)) {
          auto split = mlir::parseAttribute(
              "#spmd.split<@g" +
                  (other.strategy.empty() ? "" : ": " + other.strategy) + ">",
              &context_);
          ASSERT_TRUE(split);
          op->setAttr("spmd.split", split);
        }
      });
      Expected<PlanReport> report = planModule(*pinned, fourDevices());
      ASSERT_TRUE(report) << report.status().message();
      ASSERT_TRUE(other.growth);
      EXPECT_EQ(report->nanoseconds - best->nanoseconds, *other.growth)
          << other.strategy;
    }
  }
}

/// Times and conversions of what is chosen make the whole, for plans that fuse
/// something and others.
TEST_P(AlternativesTest, TimesAddUp) {
  for (uint64_t seed = 0; seed != 10; ++seed) {
    auto module = parse(kMlp);
    PlanOptions options = fourDevices();
    options.solver = "random";
    options.seed = seed;
    options.grid.mesh = "2x2";
    ASSERT_TRUE(planModule(*module, options));
    auto plan = PlanAlternatives::of(*module, cluster_);
    ASSERT_TRUE(plan) << plan.status().message();
    Expected<PlanPrice> price = priceOfPlan(*module, cluster_);
    ASSERT_TRUE(price);
    int64_t sum = 0;
    for (int64_t nanoseconds : price->conversions) {
      sum += nanoseconds;
    }
    for (size_t i = 0; i != plan->decisions().size(); ++i) {
      for (const Alternative &other : plan->alternatives(i)) {
        sum += other.isChosen ? other.nanoseconds : 0;
      }
    }
    EXPECT_EQ(sum, plan->nanoseconds()) << "seed " << seed;
    EXPECT_EQ(sum, price->nanoseconds) << "seed " << seed;
  }
}

TEST_P(AlternativesTest, AnEditedPlanIsPricedAsItIs) {
  auto module = parse(kMlp);
  ASSERT_TRUE(planModule(*module, fourDevices()));
  module->walk([&](nn::ReluOp op) {
    op->setAttr("spmd.split",
                mlir::parseAttribute("#spmd.split<@g>", &context_));
  });
  auto plan = PlanAlternatives::of(*module, cluster_);
  ASSERT_TRUE(plan) << plan.status().message();
  for (size_t i = 0; i != plan->decisions().size(); ++i) {
    if (llvm::isa<nn::ReluOp>(plan->decisions()[i].op)) {
      Alternative first = plan->alternatives(i).front();
      EXPECT_FALSE(first.isChosen);
      EXPECT_LT(*first.growth, 0);
    }
  }
}

TEST_P(AlternativesTest, PlansOnSeveralGridsAndHalfPlansAreRefused) {
  auto module = parse(kMlp);
  EXPECT_THAT(PlanAlternatives::of(*module, cluster_).status().message(),
              HasSubstr("the plan has 0 grids; alternatives are known only for "
                        "plans on one grid"));
  ASSERT_TRUE(planModule(*module, fourDevices()));
  module->walk([](nn::ReluOp op) { op->removeAttr("spmd.split"); });
  Status status = PlanAlternatives::of(*module, cluster_).status();
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_THAT(status.message(),
              HasSubstr("the plan is incomplete: an operator, a global, an "
                        "argument or a result has no strategy"));
}
