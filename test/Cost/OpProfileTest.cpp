//===- OpProfileTest.cpp - What operators cost, as IR says ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Cost/OpCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace divisi;

namespace {
class OpProfileTest : public testing::Test {
protected:
  OpProfileTest() {
    context_.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  }

  /// What the one operator of a function costs whose argument %x has type
  /// `from`; `split` is applied to its loops on (x=2).
  int64_t cost(const std::string &from, const std::string &op,
               std::vector<llvm::SmallVector<AxisId, 2>> loopAxes = {}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(%x: " + from + ") { %y = " + op + " return }", &context_);
    nn::LoopInterface found;
    module->walk([&](nn::LoopInterface op) { found = op; });
    LoopNest nest = found.getLoopNest();
    Split split = Split::replicated(nest);
    for (auto [loop, axes] : llvm::enumerate(loopAxes)) {
      split.loopAxes[loop] = axes;
    }
    return opNanoseconds(nest, Grid({{"x", 2}}), split, profileOf(found),
                         presetCluster("cpu", 2)->pace());
  }

  mlir::MLIRContext context_;
};
} // namespace

TEST_F(OpProfileTest, ViewsCostNothing) {
  EXPECT_EQ(cost("tensor<4x8xf32>", "nn.reshape %x : (tensor<4x8xf32>) -> "
                                    "tensor<32xf32>"),
            0);
  EXPECT_EQ(cost("tensor<1x8xf32>",
                 "nn.transpose %x {permutation = array<i64: 1, 0>} : "
                 "(tensor<1x8xf32>) -> tensor<8x1xf32>"),
            0);
}

TEST_F(OpProfileTest, WhatMovesElementsCosts) {
  const std::string transpose =
      "nn.transpose %x {permutation = array<i64: 1, 0>} : "
      "(tensor<2x8xf32>) -> tensor<8x2xf32>";
  EXPECT_GT(cost("tensor<2x8xf32>", transpose), 0);
  EXPECT_GT(cost("tensor<2x8xf32>",
                 "nn.relu %x : (tensor<2x8xf32>) -> tensor<2x8xf32>"),
            0);
  // A split that leaves each position one row leaves nothing to move.
  AxisId x{0};
  EXPECT_GT(cost("tensor<2x8xf32>", transpose, {{x}, {}}), 0);
  EXPECT_EQ(cost("tensor<2x8xf32>", transpose, {{}, {x}}), 0);
}
