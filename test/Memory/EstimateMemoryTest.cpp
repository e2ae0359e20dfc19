//===- EstimateMemoryTest.cpp ---------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Memory/EstimateMemory.h"

#include "divisi/Compiler/Registration.h"
#include "passes/Lower/Passes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace divisi;

static DeviceMemory device(std::string kind, int64_t limit, int64_t arena) {
  return {std::move(kind), limit, {.arena = arena}};
}

/// `a 10 of 20, b 7 of 9`
static std::string textOf(const std::vector<DeviceMemory> &devices) {
  std::string text;
  for (const DeviceMemory &device : devices) {
    text += (text.empty() ? "" : ", ") + device.kind + " " +
            std::to_string(device.held.total()) + " of " +
            std::to_string(device.limit);
  }
  return text;
}

TEST(EstimateMemory, TheFullestOfEachKindIsFound) {
  EXPECT_EQ(textOf(fullestOf({device("a", 20, 3), device("b", 9, 7),
                              device("a", 20, 10), device("b", 9, 5)})),
            "a 10 of 20, b 7 of 9");
  // Two kinds may have one name.
  EXPECT_EQ(textOf(fullestOf({device("a", 20, 3), device("a", 9, 7)})),
            "a 3 of 20, a 7 of 9");
  // A kind that is idle is none, unless all are.
  EXPECT_EQ(textOf(fullestOf({device("a", 20, 0), device("b", 9, 7)})),
            "b 7 of 9");
  EXPECT_EQ(textOf(fullestOf({device("a", 20, 0)})), "a 0 of 20");
}

/// Operators without strategies are no program yet. Nobody hears of it.
TEST(EstimateMemory, WhatCannotBeLoweredIsAnError) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"mlir(
        func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
          %y = nn.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          return %y : tensor<2xf32>
        }
      )mlir",
      &context);
  ASSERT_TRUE(module);
  int told = 0;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &) { ++told; });
  Cluster cluster = *presetCluster("cpu", 1);
  auto estimated = estimateMemory(
      *module, {.cluster = cluster, .stages = [](mlir::OpPassManager &passes) {
                  buildLowerPipeline(passes);
                }});
  EXPECT_EQ(estimated.status().message(), "the module cannot be lowered");
  EXPECT_EQ(estimated.status().code(), ExitCode::Invalid);
  EXPECT_EQ(told, 0);
}
