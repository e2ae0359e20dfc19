//===- RoundingTest.cpp - Tests of what operators say of narrow floats ----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace divisi;

namespace {

struct RoundingTest : testing::Test {
  RoundingTest() { context.loadDialect<nn::NNDialect>(); }

  /// What the operator says, on operands of which nothing is known.
  nn::Rounding roundingOf(mlir::StringRef op) {
    mlir::OperationState state(mlir::UnknownLoc::get(&context), op);
    mlir::OwningOpRef<mlir::Operation *> made(mlir::Operation::create(state));
    return mlir::cast<nn::RoundingInterface>(*made).getRounding();
  }

  mlir::MLIRContext context;
};

} // namespace

TEST_F(RoundingTest, EveryOperatorOnTensorsSaysIt) {
  size_t count = 0;
  for (mlir::RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("nn")) {
    if (name.getStringRef() != nn::GlobalOp::getOperationName()) {
      EXPECT_TRUE(name.hasInterface<nn::RoundingInterface>())
          << name.getStringRef().str();
      ++count;
    }
  }
  EXPECT_GT(count, 80u);
}

/// 64 numbers, some of them negative, or flags.
static rt::HostTensor drawn(rt::DType type, std::mt19937 &random) {
  auto wide = rt::HostTensor::zeros(rt::DType::F32, {64});
  for (float &each : wide->as<float>()) {
    each = type == rt::DType::Bool
               ? float(random() % 2)
               : std::ldexp(float(random() % 2000) - 1000, -7);
  }
  return *wide->castTo(type);
}

TEST_F(RoundingTest, WhatMovesElementsRoundsNone) {
  std::mt19937 random(3);
  size_t count = 0;
  for (const rt::ScalarFacts &facts : rt::scalarFacts) {
    bool moves =
        !facts.op.empty() && roundingOf(facts.op) == nn::Rounding::Moves;
    if (!moves) {
      continue;
    }
    ++count;
    std::vector<rt::HostTensor> operands;
    std::vector<rt::TensorInfo> infos;
    std::vector<const void *> data;
    for (size_t i = 0; i != facts.operands; ++i) {
      bool isCondition = facts.function == rt::ScalarFunction::Select && i == 0;
      operands.push_back(
          drawn(isCondition ? rt::DType::Bool : rt::DType::BF16, random));
      infos.push_back(rt::TensorInfo::whole(operands[i].type(), {64}));
    }
    for (const rt::HostTensor &operand : operands) {
      data.push_back(operand.data());
    }
    auto result = rt::HostTensor::zeros(rt::DType::BF16, {64});
    rt::TensorInfo info = rt::TensorInfo::whole(rt::DType::BF16, {64});
    void *to = result->data();
    Status status =
        rt::evaluate(facts.op, {}, infos, data, {&info, 1}, {&to, 1});
    ASSERT_TRUE(status.isOk()) << status.message();
    for (int64_t i = 0; i != 64; ++i) {
      double made = std::abs(result->floatAt(i));
      bool isThere = made == 0;
      for (const rt::HostTensor &operand : operands) {
        isThere |= operand.type() == rt::DType::BF16 &&
                   std::abs(operand.floatAt(i)) == made;
      }
      EXPECT_TRUE(isThere) << facts.op << " " << i;
    }
  }
  EXPECT_EQ(count, 6u);
}
