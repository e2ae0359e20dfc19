//===- PlanOptionsTest.cpp - Options on their way into nn-plan ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Plan/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gmock/gmock.h>

using namespace divisi;
using testing::HasSubstr;
using testing::Not;

static std::string textOf(mlir::OpPassManager &manager) {
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.printAsTextualPipeline(os);
  return text;
}

/// The passes that the driver runs.
static std::string pipelineFor(const PlanOptions &options) {
  mlir::OpPassManager manager("builtin.module");
  buildPlanPipeline(manager, options);
  return textOf(manager);
}

/// No field has its default.
static PlanOptions unusualOptions() {
  PlanOptions options;
  options.cluster = "cpu:96";
  options.grid.devices = 12;
  options.grid.mesh = "data=3,model=4";
  options.grid.dataParallel = 3;
  options.grid.tensorParallel = 4;
  options.grid.maxAxes = 5;
  options.batchDim = 1;
  options.memoryLimit = 123456;
  options.zero = "2";
  options.recompute = "full";
  options.judge = "sum";
  options.solver = "mcmc";
  options.seed = 17;
  options.work = 1000;
  options.gap = 0.25;
  options.maxStrategies = 7;
  return options;
}

TEST(PlanOptions, ReachThePassWhole) {
  std::string text = pipelineFor(unusualOptions());
  for (const char *option :
       {"cluster=cpu:96", "devices=12", "mesh=data=3,model=4",
        "data-parallel-size=3", "tensor-parallel-size=4", "max-axes=5",
        "batch-dim=1", "memory-limit=123456", "zero=2", "recompute=full",
        "judge=sum", "solver=mcmc", "seed=17", "work=1000", "gap=2.5",
        "max-strategies=7"}) {
    EXPECT_THAT(text, HasSubstr(option));
  }
  EXPECT_THAT(text, HasSubstr("verify-plan"));
}

TEST(PlanOptions, WhatIsAbsentStaysAbsent) {
  std::string text = pipelineFor(PlanOptions());
  for (const char *name : {"devices", "data-parallel-size",
                           "tensor-parallel-size", "memory-limit"}) {
    EXPECT_THAT(text, HasSubstr(std::string(name) + "=None"));
  }
  PlanOptions options;
  options.grid.devices = -1;
  EXPECT_THAT(pipelineFor(options), HasSubstr("devices=-1"));
}

TEST(PlanOptions, TheTextOfThePipelineIsThePipeline) {
  for (const PlanOptions &options : {PlanOptions(), unusualOptions()}) {
    std::string text = pipelineFor(options);
    registerPlanPasses();
    auto parsed = mlir::parsePassPipeline(text);
    ASSERT_TRUE(succeeded(parsed)) << text;
    EXPECT_EQ(textOf(*parsed), text);
  }
}

TEST(PlanOptions, ThePipelineOfTheStageTakesThemToo) {
  registerPlanPipeline();
  auto parsed =
      mlir::parsePassPipeline("builtin.module(divisi-plan{devices=6 work=5})");
  ASSERT_TRUE(succeeded(parsed));
  PlanOptions options;
  options.grid.devices = 6;
  options.work = 5;
  EXPECT_EQ(textOf(*parsed), pipelineFor(options));
}
