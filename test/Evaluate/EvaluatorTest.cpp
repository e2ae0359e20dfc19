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
