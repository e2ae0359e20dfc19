//===- EvaluatorTest.cpp - Calls of functions that do not fit -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Evaluate/Evaluator.h"

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace divisi;

TEST(EvaluatorTest, InputsThatDoNotFitAreRefused) {
  mlir::MLIRContext context;
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  )mlir",
                                                        &context);
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  GlobalStore store;
  GlobalValues globals(*module, store);
  auto none = evaluateFunction(function, {}, globals);
  EXPECT_EQ(none.status().message(), "got 0 inputs for a function of 1");
  // One tensor without dimensions.
  std::remove_reference_t<decltype(*none)> inputs(1);
  EXPECT_EQ(evaluateFunction(function, inputs, globals).status().message(),
            "input 0 has another shape or element type than the function "
            "declares");
}

TEST(EvaluatorTest, TensorsWithoutALayoutAreWhole) {
  mlir::MLIRContext context;
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
    func.func @f() -> tensor<2x3xi64> {
      %0 = nn.iota {axis = 1} : () -> tensor<2x3xi64>
      return %0 : tensor<2x3xi64>
    }
  )mlir",
                                                        &context);
  ASSERT_TRUE(module);
  GlobalStore store;
  GlobalValues globals(*module, store);
  auto results = evaluateFunction(module->lookupSymbol<mlir::func::FuncOp>("f"),
                                  {}, globals);
  ASSERT_TRUE(results) << results.status().message();
  for (int64_t i = 0; i != 6; ++i) {
    EXPECT_EQ(results->front().intAt(i), i % 3);
  }
}

/// @f runs a body `n` times, in the field; a body runs a branch.
static constexpr const char *kLoops = R"mlir(
    func.func private @double(%x: tensor<!nn.field>) -> tensor<!nn.field> {
      %0 = nn.add %x, %x
          : (tensor<!nn.field>, tensor<!nn.field>) -> tensor<!nn.field>
      return %0 : tensor<!nn.field>
    }
    func.func private @square(%x: tensor<!nn.field>) -> tensor<!nn.field> {
      %0 = nn.mul %x, %x
          : (tensor<!nn.field>, tensor<!nn.field>) -> tensor<!nn.field>
      return %0 : tensor<!nn.field>
    }
    func.func private @step(%i: tensor<i64>, %x: tensor<!nn.field>,
                            %y: tensor<!nn.field>)
        -> (tensor<!nn.field>, tensor<!nn.field>) {
      %one = nn.constant dense<1> : tensor<i64>
      %c = nn.compare %i, %one {predicate = "lt"}
          : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %0 = nn.if %c then @double else @square(%x)
          : (tensor<i1>, tensor<!nn.field>) -> tensor<!nn.field>
      return %y, %0 : tensor<!nn.field>, tensor<!nn.field>
    }
    func.func @f(%n: tensor<i64>, %x: tensor<!nn.field>, %y: tensor<!nn.field>)
        -> (tensor<!nn.field>, tensor<!nn.field>) {
      %0, %1 = nn.loop @step(%n, %x, %y) max 5
          : (tensor<i64>, tensor<!nn.field>, tensor<!nn.field>)
          -> (tensor<!nn.field>, tensor<!nn.field>)
      return %0, %1 : tensor<!nn.field>, tensor<!nn.field>
    }
  )mlir";

TEST(EvaluatorTest, LoopsCarryValuesAndBranchesChoose) {
  mlir::MLIRContext context;
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kLoops, &context);
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  GlobalStore store;
  GlobalValues globals(*module, store);
  auto run = [&](int64_t count) {
    auto n = *rt::HostTensor::zeros(rt::DType::I64, {});
    n.as<int64_t>()[0] = count;
    auto field = [](int64_t value) {
      auto tensor = *rt::HostTensor::zeros(rt::DType::I64, {});
      tensor.as<int64_t>()[0] = value;
      return *tensor.castTo(rt::DType::Field);
    };
    return evaluateFunction(function, {n, field(3), field(5)}, globals);
  };
  // (x, y) becomes (y, f(x)): f doubles once, then squares.
  int64_t expected[][2] = {{3, 5}, {5, 6}, {6, 25}, {25, 36}};
  for (int64_t count = 0; count < 4; ++count) {
    auto results = run(count);
    ASSERT_TRUE(results) << results.status().message();
    for (int i : {0, 1}) {
      EXPECT_EQ((*results)[i].castTo(rt::DType::I64)->intAt(0),
                expected[count][i])
          << count;
    }
  }
  for (int64_t count : {-1, 6}) {
    EXPECT_TRUE(llvm::StringRef(run(count).status().message())
                    .ends_with("it is to run " + std::to_string(count) +
                               " times, expected 0 to 5"));
  }
}
