//===- BuildersTest.cpp - Builders that infer and check -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace divisi;

namespace {
/// A module to build into, and the last error that was reported.
class Builders : public testing::Test {
protected:
  Builders()
      : builder(&context), loc(UnknownLoc::get(&context)),
        module(ModuleOp::create(loc)),
        handler(&context, [this](Diagnostic &diagnostic) {
          error = diagnostic.str();
          return success();
        }) {
    context.loadDialect<nn::NNDialect>();
    builder.setInsertionPointToStart(module->getBody());
  }

  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  /// Some value of `shape`.
  Value value(ArrayRef<int64_t> shape) {
    return nn::IotaOp::create(builder, loc, type(shape), 0);
  }

  MLIRContext context;
  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
  ScopedDiagnosticHandler handler;
  std::string error;
};
} // namespace

TEST_F(Builders, InferTheResult) {
  auto matmul = nn::MatmulOp::create(builder, loc, value({4, 8}),
                                     value({8, 16}), "mk,kn->nm");
  EXPECT_EQ(matmul.getType(), type({16, 4}));
  auto add = nn::AddOp::create(builder, loc, value({4, 1}), value({3}));
  EXPECT_EQ(add.getType(), type({4, 3}));
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(error, "");
}

TEST_F(Builders, TakeTheResultWhereItIsAChoice) {
  auto reshape = nn::ReshapeOp::create(builder, loc, value({4, 6}), {8, 3});
  EXPECT_EQ(reshape.getType(), type({8, 3}));
  auto cast = nn::CastOp::create(builder, loc, reshape, builder.getI64Type());
  EXPECT_EQ(cast.getType().getElementType(), builder.getI64Type());
}

TEST_F(Builders, ReportWhatDoesNotInfer) {
  Value a = value({4}), b = value({5});
  size_t before = module->getBody()->getOperations().size();
  EXPECT_FALSE(nn::create<nn::AddOp>(builder, loc, a, b));
  EXPECT_EQ(error, "'nn.add' op cannot broadcast 'tensor<5xf32>' together with "
                   "the operands before it: extent 5 meets extent 4");
  EXPECT_EQ(module->getBody()->getOperations().size(), before);
}

TEST_F(Builders, ReportATypeThatIsNotAccepted) {
  EXPECT_FALSE(nn::create<nn::ReshapeOp>(builder, loc, value({4}),
                                         ArrayRef<int64_t>{5}));
  EXPECT_NE(error.find("has another number of elements"), std::string::npos);
}

TEST_F(Builders, ReportAnExtentThatNoTensorHas) {
  EXPECT_FALSE(nn::create<nn::ReshapeOp>(builder, loc, value({4}),
                                         ArrayRef<int64_t>{-4}));
  EXPECT_EQ(error, "'nn.reshape' op no tensor has an extent of -4");
}

TEST_F(Builders, ReportAnElementTypeThatNoTensorHas) {
  Type none = builder.getNoneType();
  EXPECT_FALSE(nn::create<nn::CastOp>(builder, loc, value({4}), none));
  EXPECT_EQ(error, "'nn.cast' op no tensor has elements of type 'none'");
}

TEST_F(Builders, ReportATypeThatIsNoTensor) {
  auto vector = VectorType::get({2}, builder.getF32Type());
  EXPECT_FALSE(nn::create<nn::ConstantOp>(
      builder, loc, DenseElementsAttr::get(vector, {1.0f, 2.0f})));
  EXPECT_EQ(error, "'nn.constant' op needs a ranked tensor type, got "
                   "'vector<2xf32>'");
}

TEST_F(Builders, ReportASizeThatOverflows) {
  int64_t large = int64_t{1} << 40;
  Value a = value({large, 1}), b = value({large});
  EXPECT_FALSE(nn::create<nn::MulOp>(builder, loc, a, b));
  EXPECT_NE(error.find("has more bytes than an int64 counts"),
            std::string::npos);
}
