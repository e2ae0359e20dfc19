//===- ArithmeticTest.cpp -------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Arithmetic.h"
#include "divisi/Cost/OpCost.h"
#include "test/Cost/Nests.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

static const Grid kGrid({{"x", 2}, {"y", 3}});

/// 10 queries of 12 heads of 2 examples, 6 keys, of 4 heads, 8 wide, and 5 wide
/// values; causal if asked.
static LoopNest attention(bool isCausal) {
  mlir::DialectRegistry registry;
  registry.insert<nn::NNDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  std::string right = isCausal ? "0" : "-1";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f(%q: tensor<2x12x10x8xf32>, %k: tensor<2x4x6x8xf32>, "
      "%v: tensor<2x4x6x5xf32>, %m: tensor<1x1x10x6xf32>) -> "
      "tensor<2x12x10x5xf32> {\n"
      "  %0 = nn.attention %q, %k, %v, %m {scale = 0.5 : f64, softcap = 0.0 : "
      "f64, "
      "left = -1, right = " +
          right +
          ", offset = 0} : (tensor<2x12x10x8xf32>, tensor<2x4x6x8xf32>, "
          "tensor<2x4x6x5xf32>, tensor<1x1x10x6xf32>) -> "
          "tensor<2x12x10x5xf32>\n"
          "  return %0 : tensor<2x12x10x5xf32>\n}",
      &context);
  LoopNest nest;
  module->walk([&](nn::LoopInterface op) { nest = op.getLoopNest(); });
  return nest;
}

/// y[i] = sum of x[i, j].
static LoopNest sumOfRows() {
  LoopNest nest = elementwise({4, 6});
  nest.loops[1].kind = LoopKind::Reduction;
  nest.results = {{{DimMap::loop(LoopId{0})}, {4}}};
  return nest;
}

TEST(Arithmetic, ProductsAreThoseOfTwoOperandsThatAreSummed) {
  EXPECT_TRUE(isProduct(product(4, 5, 6)));
  EXPECT_TRUE(isProduct(convolution(8, 8, 3, 4)));
  EXPECT_TRUE(isProduct(attention(false)));
  EXPECT_FALSE(isProduct(elementwise({4, 6}, 2)));
  EXPECT_FALSE(isProduct(sumOfRows()));
  LoopNest moved = product(4, 5, 6);
  moved.flopsPerPoint = 0; // of a scatter
  EXPECT_FALSE(isProduct(moved));
}

TEST(Arithmetic, AnAttentionStartsProductsForEachHead) {
  auto started = [](const LoopNest &nest, const Split &split) {
    return startedProducts(nest, kGrid, split);
  };
  LoopNest plain = product(4, 5, 6, /*batch=*/7), heads = attention(false);
  EXPECT_EQ(started(plain, Split::replicated(plain)), 1);
  EXPECT_EQ(started(elementwise({4}), Split::replicated(elementwise({4}))), 0);
  Split split = Split::replicated(heads);
  EXPECT_EQ(started(heads, split), 2 * 4 / 2); // of keys
  split.loopAxes[heads.find("h")->index] = {AxisId{1}};
  EXPECT_EQ(started(heads, split), 2 * 2 / 2); // 4 heads over 3
}

TEST(Arithmetic, FunctionsOfWeightsAreNoProducts) {
  EXPECT_EQ(vectorShare(product(4, 5, 6)), 0);
  EXPECT_EQ(vectorShare(elementwise({4, 6})), 1);
  // 14 operations of each weight: the first query meets one key, the second
  // two, and the last five all.
  double all = 2 * 12 * 10 * 6, before = 2 * 12 * (1 + 2 + 3 + 4 + 5 + 5 * 6);
  for (bool isCausal : {false, true}) {
    LoopNest nest = attention(isCausal);
    EXPECT_NEAR(vectorShare(nest) * nest.flops(),
                14 * (isCausal ? before : all), 1e-6 * all);
  }
}

TEST(Arithmetic, EachPartHasItsRate) {
  DeviceKind core = {.name = "test",
                     .peaks = {.f32 = 1e9},
                     .efficiency = 0.5,
                     .memoryBytesPerSecond = 1e15,
                     .memoryBytes = 1,
                     .launchNanoseconds = 10};
  auto price = [&](const LoopNest &nest) {
    OpProfile profile;
    profile.operands.assign(nest.operands.size(), 32);
    profile.results = {32};
    return opNanoseconds(nest, kGrid, Split::replicated(nest), profile, core);
  };
  LoopNest plain = product(4, 5, 6), heads = attention(false);
  EXPECT_EQ(price(plain), 10 + 2 * 240);
  EXPECT_EQ(price(elementwise({4, 6})), 10 + 2 * 24);
  EXPECT_EQ(price(heads), 10 + 2 * int64_t(heads.flops()));
  core.vectorFlopsPerSecond = 1e8;
  core.productLaunchNanoseconds = 100;
  EXPECT_EQ(price(plain), 110 + 2 * 240);
  EXPECT_EQ(price(elementwise({4, 6})), 10 + 10 * 24);
  int64_t functions = 14 * 2 * 12 * 10 * 6;
  EXPECT_NEAR(double(price(heads)),
              double(10 + 4 * 100 + 10 * functions +
                     2 * (int64_t(heads.flops()) - functions)),
              1);
}

TEST(Arithmetic, VectorsFallBackToProducts) {
  DeviceKind stated = presetCluster("cpu", 1)->pace(),
             other = presetCluster("dgx-h100", 8)->pace();
  EXPECT_EQ(stated.vectorRate(Precision::F32), 2.5e10);
  EXPECT_EQ(other.vectorRate(Precision::BF16),
            other.flopsPerSecond(Precision::BF16));
  // Of both the slower, also where one states nothing.
  Cluster mixed = *presetCluster("cpu", 1);
  mixed.devices.push_back(presetCluster("dgx-h100", 8)->devices.front());
  EXPECT_EQ(mixed.pace().vectorRate(Precision::F32), 2.5e10);
  EXPECT_EQ(mixed.pace().productLaunchNanoseconds,
            stated.productLaunchNanoseconds);
}
