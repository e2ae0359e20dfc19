//===- OptionsTest.cpp ----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Options.h"

#include <gmock/gmock.h>

using namespace divisi;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Options, WithoutAnyAreTheDefaults) {
  Expected<CompileOptions> options = checkOptions({});
  ASSERT_TRUE(options) << options.status().message();
  EXPECT_EQ(options->plan.solver, "auto");
  EXPECT_EQ(options->plan.work, PlanOptions().work);
  EXPECT_FALSE(options->plan.grid.devices);
  EXPECT_TRUE(options->overlap && options->fuse);
  EXPECT_TRUE(options->deviceOf);
  EXPECT_FALSE(options->emit.externalWeights);
}

TEST(Options, TextsAreParsed) {
  GivenOptions given;
  given.dims = {"batch=4"};
  given.shapes = {"a=b=2x16"}; // a name of ONNX's may hold an '='
  given.memoryLimit = "1.5KiB";
  given.limits.seconds = 2;
  given.weights = "external";
  given.gpu = "off";
  given.dumpAfter = {"plan", "lower"};
  given.dumpTo = "folder";
  Expected<CompileOptions> options = checkOptions(given);
  ASSERT_TRUE(options) << options.status().message();
  EXPECT_EQ(options->import.dims.at("batch"), 4);
  EXPECT_THAT(options->import.inputs.at("a=b").dims, ElementsAre(2, 16));
  EXPECT_EQ(options->plan.memoryLimit, 1536);
  EXPECT_EQ(options->plan.work, std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(options->emit.externalWeights);
  EXPECT_FALSE(options->deviceOf);
  EXPECT_THAT(options->dumpAfter, ElementsAre(Stage::Plan, Stage::Lower));
  EXPECT_EQ(options->dumpFolder, "folder");
}

/// Whoever wants throughput lets the batch be divided, unless it is said how.
TEST(Options, ThroughputImpliesSearchedMicroBatches) {
  GivenOptions given;
  given.objective = "throughput";
  Expected<CompileOptions> options = checkOptions(given);
  ASSERT_TRUE(options) << options.status().message();
  EXPECT_TRUE(options->searchesMicroBatches && options->impliesMicroBatches);
  given.microBatches = "1";
  options = checkOptions(given);
  EXPECT_FALSE(options->searchesMicroBatches || options->impliesMicroBatches);
  given.microBatches = "auto";
  options = checkOptions(given);
  EXPECT_TRUE(options->searchesMicroBatches && !options->impliesMicroBatches);
  given = GivenOptions();
  given.objective = "latency";
  options = checkOptions(given);
  EXPECT_FALSE(options->searchesMicroBatches);
}

/// Every caller gets the message that the command line prints.
TEST(Options, AMistakeIsNamedAsTheCommandLineNamesIt) {
  using Change = void (*)(GivenOptions &given);
  const std::pair<Change, const char *> mistakes[] = {
      {[](GivenOptions &given) { given.dims = {"batch"}; },
       "--dim 'batch': expected NAME=N with N at least 0"},
      {[](GivenOptions &given) { given.shapes = {"x=2y3"}; },
       "--shape '2y3': expected extents such as 2x16"},
      {[](GivenOptions &given) { given.precision = ""; },
       "--precision '': expected bf16 or f16"},
      {[](GivenOptions &given) { given.keepF32 = {"a"}; },
       "--keep-f32 needs --precision; give both"},
      {[](GivenOptions &given) { given.reducePrecision = "f64"; },
       "--reduce-precision 'f64': expected bf16, f16 or f32"},
      {[](GivenOptions &given) { given.objective = "speed"; },
       "--objective 'speed': expected latency, throughput or step"},
      {[](GivenOptions &given) { given.keep = {"a"}; },
       "--keep needs --replan; give both"},
      {[](GivenOptions &given) { given.memoryLimit = "7XB"; },
       "--memory-limit '7XB': expected a size such as 70GiB"},
      {[](GivenOptions &given) { given.limits.work = -1; },
       "--work-limit is -1, expected 0 or more"},
      {[](GivenOptions &given) { given.leaveOut = {"verify"}; },
       "--leave-out 'verify': expected some of "},
      {[](GivenOptions &given) { given.targetCpu = "z80"; },
       "--target-cpu 'z80': expected cluster, host, x86-64-v3 or x86-64-v4"},
      {[](GivenOptions &given) { given.gpu = "sm_20"; },
       "--gpu 'sm_20': expected auto, off, emulated, or sm_N"},
      {[](GivenOptions &given) { given.weights = "inside"; },
       "--weights 'inside': expected embed or external"},
      {[](GivenOptions &given) { given.dumpAfter = {"later"}; },
       "--dump-after 'later': expected import, train, rewrite, plan, "
       "partition, schedule, lower or all"},
  };
  for (const auto &[change, message] : mistakes) {
    GivenOptions given;
    change(given);
    Status status = checkOptions(given).status();
    EXPECT_EQ(status.code(), ExitCode::Usage);
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}
