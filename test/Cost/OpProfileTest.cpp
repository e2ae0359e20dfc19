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

  /// What the one operator of a function computes in.
  Precision precision(const std::string &arguments, const std::string &op) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(" + arguments + ") { %z = " + op + " return }",
        &context_);
    nn::LoopInterface found;
    module->walk([&](nn::LoopInterface op) { found = op; });
    return profileOf(found).precision;
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

TEST_F(OpProfileTest, ProductsTakeTheRateOfWhatTheyMultiply) {
  auto matmul = [&](const std::string &operand, const std::string &result) {
    std::string type = "tensor<8x8x" + operand + ">";
    return precision("%x: " + type + ", %y: " + type,
                     "nn.matmul %x, %y {labels = \"mk,kn->mn\"} : (" + type +
                         ", " + type + ") -> tensor<8x8x" + result + ">");
  };
  EXPECT_EQ(matmul("f32", "f32"), Precision::F32);
  EXPECT_EQ(matmul("bf16", "bf16"), Precision::BF16);
  EXPECT_EQ(matmul("bf16", "f32"), Precision::BF16);
  EXPECT_EQ(matmul("f16", "f32"), Precision::F16);
  EXPECT_EQ(
      precision("%x: tensor<8x8xui8>, %y: tensor<8x8xi8>",
                "nn.matmul_integer %x, %y {labels = \"mk,kn->mn\", a_zero = 3, "
                "b_zero = 0} : (tensor<8x8xui8>, tensor<8x8xi8>) -> "
                "tensor<8x8xi32>"),
      Precision::I8);
  // What makes floats of codes computes in floats.
  EXPECT_EQ(precision("%x: tensor<8x8xui8>",
                      "nn.cast %x : (tensor<8x8xui8>) -> tensor<8x8xf32>"),
            Precision::F32);
}
