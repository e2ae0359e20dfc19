//===- FusionTest.cpp - What one kernel can do ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Fusion.h"
#include "dialects/SPMD/SPMD.h"
#include "test/Cost/Nests.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

//===----------------------------------------------------------------------===//
// By loops
//===----------------------------------------------------------------------===//

static LoopNest transpose() {
  LoopNest nest = elementwise({4, 6});
  std::swap(nest.operands[0].dims[0], nest.operands[0].dims[1]);
  nest.operands[0].shape = {6, 4};
  return nest;
}

/// A sum over the columns.
static LoopNest reduce() {
  LoopNest nest;
  LoopId m = nest.add("m", 4), n = nest.add("n", 6, LoopKind::Reduction);
  nest.operands = {{{DimMap::loop(m), DimMap::loop(n)}, {4, 6}}};
  nest.results = {{{DimMap::loop(m)}, {4}}};
  return nest;
}

/// The columns take turns: softmax.
static LoopNest exchange() {
  LoopNest nest = elementwise({4, 6});
  nest.loops[1].kind = LoopKind::Exchange;
  return nest;
}

/// Of rows of 6 each after the first.
static LoopNest slice() {
  LoopNest nest = elementwise({4, 5});
  nest.operands[0].dims[1] = DimMap::window(LoopId{1}, 1, -1, 0);
  nest.operands[0].shape = {4, 6};
  return nest;
}

/// [24] to [4, 6].
static LoopNest reshape() {
  LoopNest nest = elementwise({4, 6});
  nest.operands[0] = {{DimMap::product({LoopId{0}, LoopId{1}})}, {24}};
  return nest;
}

TEST(FusionTest, AnElementwiseOperatorGoesOnFromWhateverMakesElements) {
  LoopNest next = elementwise({4, 6}, 2);
  for (const LoopNest &producer :
       {elementwise({4, 6}), product(4, 6, 3), exchange(), reshape()}) {
    EXPECT_TRUE(fuses(producer, 0, next, 0));
    EXPECT_TRUE(fuses(producer, 0, next, 1));
  }
  EXPECT_TRUE(fuses(convolution(4, 6, 3, 5), 0, elementwise({5, 4, 6}), 0));
  EXPECT_TRUE(fuses(reduce(), 0, elementwise({4}), 0));
}

TEST(FusionTest, ABroadcastOperandIsUsedManyTimes) {
  LoopNest bias = elementwise({4, 6}, 2);
  bias.operands[1] = {{DimMap::loop(LoopId{1})}, {6}};
  EXPECT_TRUE(fuses(product(4, 6, 3), 0, bias, 0));
  EXPECT_FALSE(fuses(elementwise({6}), 0, bias, 1));
  bias.operands[1] = {{DimMap::none(), DimMap::loop(LoopId{1})}, {1, 6}};
  EXPECT_FALSE(fuses(elementwise({1, 6}), 0, bias, 1));
}

TEST(FusionTest, WhatUsesElementsElsewhereIsNotFused) {
  LoopNest before = elementwise({6, 4});
  EXPECT_FALSE(fuses(before, 0, transpose(), 0));
  LoopNest rows = elementwise({4, 6});
  EXPECT_FALSE(fuses(rows, 0, reduce(), 0));
  EXPECT_FALSE(fuses(rows, 0, exchange(), 0));
  EXPECT_FALSE(fuses(rows, 0, slice(), 0));
  EXPECT_FALSE(fuses(rows, 0, product(4, 3, 6), 0));
  EXPECT_FALSE(fuses(elementwise({24}), 0, reshape(), 0));
  EXPECT_FALSE(fuses(elementwise({5, 4, 6}), 0, convolution(4, 6, 5, 3), 0));
  // A square one has equal shapes.
  LoopNest square = elementwise({4, 4});
  std::swap(square.operands[0].dims[0], square.operands[0].dims[1]);
  EXPECT_FALSE(fuses(elementwise({4, 4}), 0, square, 0));
}

// Loops of one iteration need stand nowhere, and dimensions of one index need
// none.
TEST(FusionTest, WhatHasOneIndexDoesNotCount) {
  LoopNest ones = elementwise({1, 6});
  ones.operands[0].dims[0] = DimMap::none();
  EXPECT_TRUE(fuses(elementwise({1, 6}), 0, ones, 0));
  EXPECT_TRUE(fuses(elementwise({}), 0, elementwise({}), 0));
}

TEST(FusionTest, ShapesAreTheSame) {
  EXPECT_FALSE(fuses(elementwise({6}), 0, elementwise({1, 6}), 0));
}

// Windows of a result meet: an element has several makers.
TEST(FusionTest, EachElementIsMadeInOnePlace) {
  LoopNest scattered = elementwise({4, 6});
  scattered.results[0].dims[1] = DimMap::window(LoopId{1}, 1, 0, 1);
  EXPECT_FALSE(fuses(scattered, 0, elementwise({4, 6}), 0));
}

//===----------------------------------------------------------------------===//
// In a program
//===----------------------------------------------------------------------===//

namespace {
class FusionsOfTest : public testing::Test {
protected:
  FusionsOfTest() {
    context_.loadDialect<mlir::func::FuncDialect, nn::NNDialect,
                         spmd::SPMDDialect>();
  }

  /// What `chosen` says of each operator of a program that has a fusible end,
  /// as `matmul>relu:0`: from whom to which operand of whom.
  std::string text(const std::string &body, FusedEnds OpFusion::*chosen) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(body, &context_);
    EXPECT_TRUE(module);
    std::string text;
    for (auto function : module->getOps<mlir::func::FuncOp>()) {
      mlir::Block &block = function.getBody().front();
      auto fusions = fusionsOf(block);
      int64_t results = 0, operands = 0;
      for (mlir::Operation &op : block) {
        const FusedEnds ends = fusions.lookup(&op).*chosen;
        results += int64_t(ends.results.size());
        for (unsigned number : ends.operands) {
          ++operands;
          mlir::Operation *maker = op.getOperand(number).getDefiningOp();
          text +=
              (maker->getName().stripDialect() + ">" +
               op.getName().stripDialect() + ":" + llvm::Twine(number) + " ")
                  .str();
        }
      }
      EXPECT_EQ(results, operands);
    }
    return text;
  }
  /// Of a function of %x, %y (4x6), %z (6) and %w (6x6) that returns %r (4x6).
  std::string fusible(const std::string &body) {
    return text("nn.global @s state : tensor<4x6xf32>\n"
                "func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %z: "
                "tensor<6xf32>, %w: tensor<6x6xf32>) -> tensor<4x6xf32> {\n" +
                    body + "return %r : tensor<4x6xf32>\n}",
                &OpFusion::fusible);
  }
  /// Of two operators on (x=2) as Partition leaves them: a product that is
  /// split as `made`, and what follows.
  std::string fused(const std::string &made, const std::string &layout,
                    const std::string &rest) {
    return text("spmd.grid @g (x=2)\nfunc.func @f(%a: tensor<4x6xf32, "
                "#spmd.local<(x=2), [*, *], 4x6>>) {\n%p = nn.exp %a "
                "{spmd.split = #spmd.split<@g" +
                    made +
                    ">} : (tensor<4x6xf32, #spmd.local<(x=2), [*, *], 4x6>>)" +
                    layout + rest + "return\n}",
                &OpFusion::fused);
  }

  mlir::MLIRContext context_;
};
} // namespace

static constexpr char kAll[] = "(tensor<4x6xf32>) -> tensor<4x6xf32>\n";
static constexpr char kTwo[] =
    "(tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>\n";
static constexpr char kProduct[] =
    "{labels = \"mk,kn->mn\"} : (tensor<4x6xf32>, tensor<6x6xf32>) -> "
    "tensor<4x6xf32>\n";

TEST_F(FusionsOfTest, AChainIsOneKernel) {
  EXPECT_EQ(fusible(std::string("%p = nn.matmul %x, %w ") + kProduct +
                    "%q = nn.add %p, %z : (tensor<4x6xf32>, tensor<6xf32>) -> "
                    "tensor<4x6xf32>\n%r = nn.relu %q : " +
                    kAll),
            "matmul>add:0 add>relu:0 ");
}

TEST_F(FusionsOfTest, AKernelGoesOnFromTheFirst) {
  EXPECT_EQ(fusible(std::string("%p = nn.exp %x : ") + kAll +
                    "%q = nn.matmul %y, %w " + kProduct +
                    "%r = nn.add %p, %q : " + kTwo),
            "exp>add:0 ");
  // The argument is no kernel's.
  EXPECT_EQ(fusible(std::string("%q = nn.matmul %y, %w ") + kProduct +
                    "%r = nn.add %x, %q : " + kTwo),
            "matmul>add:1 ");
}

TEST_F(FusionsOfTest, NobodyElseUsesIt) {
  EXPECT_EQ(fusible(std::string("%p = nn.exp %x : ") + kAll +
                    "%q = nn.relu %p : " + kAll +
                    "%r = nn.add %q, %p : " + kTwo),
            "relu>add:0 ");
  EXPECT_EQ(fusible(std::string("%p = nn.exp %x : ") + kAll +
                    "%r = nn.add %p, %p : " + kTwo),
            "");
  // What a global gets is in memory.
  EXPECT_EQ(fusible(std::string("%r = nn.exp %x : ") + kAll +
                    "%q = nn.exp %y : " + kAll +
                    "nn.update @s, %q : tensor<4x6xf32>\n"),
            "");
}

TEST_F(FusionsOfTest, AViewIsNoKernel) {
  EXPECT_EQ(fusible("%p = nn.read @s : tensor<4x6xf32>\n%r = nn.relu %p : " +
                    std::string(kAll)),
            "");
  EXPECT_EQ(fusible("%p = nn.constant dense<1.0> : tensor<4x6xf32>\n%r = "
                    "nn.relu %p : " +
                    std::string(kAll)),
            "");
  EXPECT_EQ(fusible("%o = nn.exp %w : (tensor<6x6xf32>) -> tensor<6x6xf32>\n"
                    "%p = nn.reshape %o : (tensor<6x6xf32>) -> "
                    "tensor<1x6x6xf32>\n%q = nn.relu %p : "
                    "(tensor<1x6x6xf32>) -> tensor<1x6x6xf32>\n%r = nn.exp %x "
                    ": " +
                    std::string(kAll)),
            "");
}

// Once it is partitioned, layouts count.
TEST_F(FusionsOfTest, DevicesHaveWhatTheyGoOnWith) {
  const std::string rows = "tensor<2x6xf32, #spmd.local<(x=2), [x, *], 4x6>>";
  const std::string whole = "tensor<4x6xf32, #spmd.local<(x=2), [*, *], 4x6>>";
  auto relu = [](const std::string &from, const std::string &type,
                 const std::string &split) {
    return "%r = nn.relu " + from + " {spmd.split = #spmd.split<@g" + split +
           ">} : (" + type + ") -> " + type + "\n";
  };
  EXPECT_EQ(fused("", " -> " + whole + "\n", relu("%p", whole, "")),
            "exp>relu:0 ");
  EXPECT_EQ(fused("", " -> " + whole + "\n",
                  "%c = spmd.slice %p {axes = [\"x\"], grid = @g} : " + whole +
                      " -> " + rows + "\n" + relu("%c", rows, ": d0@x")),
            "");
}
