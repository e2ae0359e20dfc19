//===- CompilationTest.cpp - A model on its way to an artifact ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"
#include "Execute.h"
#include "divisi/Compiler/Registration.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

#include <atomic>

using namespace divisi;
using testing::ElementsAre;
using testing::HasSubstr;

/// @w.derived is 1 + 1.
static constexpr llvm::StringLiteral kProgram = R"mlir(
  nn.global @w.derived derived : tensor<2xf32>
  func.func @init() {
    %one = nn.constant dense<1.0> : tensor<2xf32>
    %two = nn.add %one, %one : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    nn.update @w.derived, %two : tensor<2xf32>
    return
  }
  func.func @forward(%x: tensor<2xf32> {nn.name = "x"})
      -> (tensor<2xf32> {nn.name = "y"}) {
    %w = nn.read @w.derived : tensor<2xf32>
    %y = nn.add %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
)mlir";

namespace {
class CompilationTest : public testing::Test {
protected:
  CompilationTest() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  Compilation compile(CompileOptions options = {}) {
    return Compilation(
        std::move(options),
        mlir::parseSourceString<mlir::ModuleOp>(kProgram, &context_),
        Stage::Import);
  }

  /// What `compilation` gives for x = [3, 4] on `devices`.
  static std::vector<float> run(Compilation &compilation) {
    Status status = compilation.advanceTo(Stage::Lower);
    EXPECT_TRUE(status.isOk()) << status.message();
    auto outputs = runByReference(compilation, "forward",
                                  {rt::HostTensor::ofFloats({2}, {3, 4})});
    if (!outputs) {
      ADD_FAILURE() << outputs.status().message();
      return {};
    }
    auto values = outputs->front().as<float>();
    return {values.begin(), values.end()};
  }

  mlir::MLIRContext context_;
};
} // namespace

static PlanOptions onDevices(int64_t count) {
  PlanOptions options;
  options.grid.devices = count;
  return options;
}

TEST_F(CompilationTest, ForksRunAlike) {
  Compilation compilation = compile();
  for (int64_t devices : {1, 2}) {
    auto fork = compilation.fork(onDevices(devices));
    EXPECT_THAT(run(*fork), ElementsAre(5, 6));
  }
  EXPECT_EQ(compilation.stage(), Stage::Import);
}

/// Between any two passes; who ended the search before has the plan measured.
TEST_F(CompilationTest, MeasuringAPlanEndsWhenAPersonEndsIt) {
  auto heldIf = [&](int64_t asked) {
    std::atomic<int64_t> asks = INT64_MAX;
    CompileOptions options;
    options.plan = onDevices(2);
    options.plan.control.stop.asks = &asks;
    Compilation compilation = compile(options);
    EXPECT_TRUE(compilation.advanceTo(Stage::Plan).isOk());
    asks = asked;
    auto held = compilation.memoryOfPlan(/*overlap=*/true);
    asks = INT64_MAX;
    // Once it is cut short, nothing is measured any more.
    EXPECT_EQ(compilation.memoryOfPlan(true).has_value(), held.has_value());
    return held ? held->front().held.total() : 0;
  };
  int64_t whole = heldIf(INT64_MAX), places = 1;
  EXPECT_GT(whole, 0);
  EXPECT_EQ(heldIf(0), whole);
  while (places != 1000 && heldIf(places) == 0) {
    ++places;
  }
  EXPECT_EQ(heldIf(places), whole);
  EXPECT_GT(places, 10);
}

TEST_F(CompilationTest, ForksTakeWhatInitHasComputedBefore) {
  CompileOptions options;
  options.emit.derived = std::make_shared<DerivedValues>();
  Compilation compilation = compile(options);
  EXPECT_THAT(run(*compilation.fork(onDevices(1))), ElementsAre(5, 6));
  ASSERT_TRUE(options.emit.derived->areComputed);
  // Another value than @init gives shows who is asked.
  options.emit.derived->values["w.derived"] =
      rt::HostTensor::ofFloats({2}, {10, 20});
  EXPECT_THAT(run(*compilation.fork(onDevices(2))), ElementsAre(13, 24));
}

TEST_F(CompilationTest, PassesNoteTheStageByTheNameThatIsRead) {
  for (Stage stage :
       {Stage::Plan, Stage::Partition, Stage::Schedule, Stage::Lower}) {
    Compilation compilation = compile();
    ASSERT_TRUE(compilation.advanceTo(stage).isOk());
    auto noted =
        compilation.module()->getAttrOfType<mlir::StringAttr>("divisi.stage");
    ASSERT_TRUE(noted);
    EXPECT_EQ(noted.getValue(), stringifyStage(stage));
  }
}

TEST_F(CompilationTest, PlansHoldWhatTheyAreEstimatedTo) {
  CompileOptions options;
  options.plan = onDevices(2);
  Compilation compilation = compile(options);
  ASSERT_TRUE(compilation.advanceTo(Stage::Plan).isOk());
  auto estimated = compilation.memoryOfPlan(/*overlap=*/true);
  // What was lowered is a copy.
  EXPECT_EQ(compilation.stage(), Stage::Plan);
  ASSERT_TRUE(compilation.advanceTo(Stage::Lower).isOk());
  auto held = compilation.memory();
  ASSERT_TRUE(held) << held.status().message();
  ASSERT_TRUE(estimated);
  ASSERT_EQ(estimated->size(), 1u);
  ASSERT_EQ(held->size(), 1u);
  EXPECT_EQ(estimated->front().kind, "cpu");
  EXPECT_EQ(estimated->front().limit, held->front().limit);
  EXPECT_EQ(estimated->front().held, held->front().held);
  EXPECT_GT(held->front().held.total(), 0);
}

TEST_F(CompilationTest, ErrorsOfThePlannerKeepTheirExitCode) {
  auto codeOf = [&](const PlanOptions &plan) {
    return compile().fork(plan)->advanceTo(Stage::Plan).code();
  };
  EXPECT_EQ(codeOf(onDevices(2)), ExitCode::Ok);
  EXPECT_EQ(codeOf(onDevices(-1)), ExitCode::Usage);
  PlanOptions small = onDevices(1);
  small.memoryLimit = 8;
  EXPECT_EQ(codeOf(small), ExitCode::Infeasible);
}

TEST_F(CompilationTest, PlansAreDroppedUntilTheyAreTakenApart) {
  CompileOptions options;
  options.plan = onDevices(2);
  Compilation compilation = compile(options);
  auto strategies = [&] {
    int64_t count = 0;
    compilation.module()->walk(
        [&](mlir::Operation *op) { count += op->hasAttr("spmd.split"); });
    return count;
  };
  ASSERT_TRUE(compilation.advanceTo(Stage::Plan).isOk());
  EXPECT_GT(strategies(), 0);
  EXPECT_EQ(compilation.replan({"lost"}).code(), ExitCode::Usage);
  EXPECT_GT(strategies(), 0);
  ASSERT_TRUE(compilation.replan({}).isOk());
  EXPECT_EQ(strategies(), 0);
  EXPECT_EQ(compilation.stage(), Stage::Import);
  ASSERT_TRUE(compilation.advanceTo(Stage::Partition).isOk());
  Status status = compilation.replan({});
  EXPECT_EQ(status.code(), ExitCode::Usage);
  EXPECT_EQ(status.message(), "the stage partition has consumed the "
                              "strategies, so they cannot be dropped");
}

TEST_F(CompilationTest, ReportsAreMadeIfAskedFor) {
  for (bool report : {true, false}) {
    CompileOptions options;
    options.plan = onDevices(2);
    options.report = report;
    Compilation compilation = compile(options);
    ASSERT_TRUE(compilation.advanceTo(Stage::Lower).isOk());
    Expected<Report> made = compilation.report();
    ASSERT_EQ(bool(made), report);
    if (made) {
      EXPECT_EQ(made->devices.size(), 2u);
      EXPECT_EQ(made->kernels.size(), 1u);
      EXPECT_GT(made->devices.front().arenaBytes, 0);
    } else {
      EXPECT_THAT(made.status().message(), HasSubstr("carries no report"));
    }
  }
}
