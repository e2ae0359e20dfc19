//===- FewBatchesTest.cpp - What few micro-batches tell of all ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is predicted of a pipeline by a few of its micro-batches is what is
// found when all of them are written out, scheduled and lowered.
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/FewBatches.h"
#include "../Sample.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Cost/ScheduleRecord.h"

#include <gmock/gmock.h>

using namespace divisi;

namespace {
/// One pipeline of a training step of two layers.
struct Case {
  const char *schedule;
  int64_t chunks, stages, batches;
  const char *recompute;
};
} // namespace

static std::string nameOf(const Case &of) {
  return std::string(of.schedule) + ", " + std::to_string(of.stages) +
         " stages of " + std::to_string(of.chunks) + ", " +
         std::to_string(of.batches) + " micro-batches, recompute " +
         of.recompute;
}

static std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (auto [schedule, chunks] : {std::pair("1f1b", 1),
                                  {"gpipe", 1},
                                  {"interleaved", 2},
                                  {"zero-bubble-h1", 1},
                                  {"zero-bubble-h2", 1},
                                  {"wave", 2},
                                  {"auto", 1}}) {
    for (int64_t stages : {2, 4}) {
      for (int64_t batches : {16, 24}) {
        for (const char *recompute : {"none", "full"}) {
          cases.push_back({schedule, chunks, stages, batches, recompute});
        }
      }
    }
  }
  return cases;
}

static CompileOptions optionsOf(const Case &of) {
  CompileOptions options;
  options.rewrite.mode = RewriteMode::Off;
  for (const char *input : {"input_ids", "attention_mask"}) {
    options.import.inputs[input] = {{2, 16}, std::nullopt};
  }
  options.train.loss = "cross_entropy";
  options.train.shiftLabels = true;
  options.train.microBatches = of.batches;
  options.train.isPipeline = true;
  options.import.trains = true;
  options.plan.grid.devices = 2 * of.stages;
  options.plan.grid.tensorParallel = 2;
  options.plan.pipelineStages = of.stages;
  options.plan.chunksPerStage = of.chunks;
  options.plan.schedule = of.schedule;
  options.plan.recompute = of.recompute;
  return options;
}

static void check(const Case &of) {
  SCOPED_TRACE(nameOf(of));
  Compilation compilation(optionsOf(of));
  Status status = compilation.load(DIVISI_MODELS "/gpt2.onnx");
  ASSERT_TRUE(status.isOk()) << status.message();
  status = compilation.advanceTo(Stage::Plan);
  ASSERT_TRUE(status.isOk()) << status.message();
  std::optional<FewBatches> few = FewBatches::of(compilation.module());
  auto bytes = compilation.memoryOfPlan(/*overlap=*/true);
  mlir::OwningOpRef<mlir::ModuleOp> copy = compilation.module().clone();
  std::optional<int64_t> time = compilation.timeOfPlan(*copy);
  ASSERT_TRUE(bytes && time);
  status = compilation.advanceTo(Stage::Schedule);
  ASSERT_TRUE(status.isOk()) << status.message();
  auto wholeTime = double(*scheduledTime(compilation.module()));
  EXPECT_NEAR(double(*time) / wholeTime, 1, few ? 0.05 : 0);
  status = compilation.advanceTo(Stage::Lower);
  ASSERT_TRUE(status.isOk()) << status.message();
  auto whole = compilation.memory();
  ASSERT_TRUE(whole) << whole.status().message();
  // The larger a program is, the more gaps the search for offsets leaves.
  EXPECT_NEAR(double(bytes->front().held.total()) /
                  double(whole->front().held.total()),
              1, few ? 0.1 : 0);
}

TEST(FewBatchesTest, TellWhatAllHoldAndTake) {
  for (const Case &one : test::sampleOf(allCases(), "FewBatches")) {
    check(one);
  }
}

TEST(FewBatchesTest, StandInTheOrderOfAll) {
  auto textOf = [](const std::vector<PipelineStep> &order) {
    std::string text;
    for (const PipelineStep &step : order) {
      text += (text.empty() ? "" : " ") + toString(step, /*withChunk=*/false);
    }
    return text;
  };
  PipelineSchedule first = firstMicroBatches(make1F1B(2, 8), 3);
  EXPECT_EQ(first.numMicroBatches, 3u);
  EXPECT_FALSE(validate(first));
  EXPECT_EQ(textOf(first.order[0]), "F0 F1 B0 F2 B1 B2");
  EXPECT_EQ(textOf(first.order[1]), "F0 B0 F1 B1 F2 B2");
  EXPECT_EQ(firstMicroBatches(make1F1B(2, 2), 3).numMicroBatches, 2u);
}
