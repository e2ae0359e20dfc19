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
      : builder_(&context_), loc_(UnknownLoc::get(&context_)),
        module_(ModuleOp::create(loc_)),
        handler_(&context_, [this](Diagnostic &diagnostic) {
          error_ = diagnostic.str();
          return success();
        }) {
    context_.loadDialect<nn::NNDialect>();
    builder_.setInsertionPointToStart(module_->getBody());
  }

  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder_.getF32Type());
  }
  /// Some value of `shape`.
  Value value(ArrayRef<int64_t> shape) {
    return nn::IotaOp::create(builder_, loc_, type(shape), 0);
  }

  MLIRContext context_;
  OpBuilder builder_;
  Location loc_;
  OwningOpRef<ModuleOp> module_;
  ScopedDiagnosticHandler handler_;
  std::string error_;
};
} // namespace

TEST_F(Builders, InferTheResult) {
  auto matmul = nn::MatmulOp::create(builder_, loc_, value({4, 8}),
                                     value({8, 16}), "mk,kn->nm");
  EXPECT_EQ(matmul.getType(), type({16, 4}));
  auto add = nn::AddOp::create(builder_, loc_, value({4, 1}), value({3}));
  EXPECT_EQ(add.getType(), type({4, 3}));
  EXPECT_TRUE(succeeded(verify(*module_)));
  EXPECT_EQ(error_, "");
}

TEST_F(Builders, TakeTheResultWhereItIsAChoice) {
  auto reshape = nn::ReshapeOp::create(builder_, loc_, value({4, 6}), {8, 3});
  EXPECT_EQ(reshape.getType(), type({8, 3}));
  auto cast =
      nn::CastOp::create(builder_, loc_, reshape, builder_.getI64Type());
  EXPECT_EQ(cast.getType().getElementType(), builder_.getI64Type());
}

TEST_F(Builders, ReportWhatDoesNotInfer) {
  Value a = value({4}), b = value({5});
  size_t before = module_->getBody()->getOperations().size();
  EXPECT_FALSE(nn::create<nn::AddOp>(builder_, loc_, a, b));
  EXPECT_EQ(error_,
            "'nn.add' op cannot broadcast 'tensor<5xf32>' together with "
            "the operands before it: extent 5 meets extent 4");
  EXPECT_EQ(module_->getBody()->getOperations().size(), before);
}

TEST_F(Builders, ReportATypeThatIsNotAccepted) {
  EXPECT_FALSE(nn::create<nn::ReshapeOp>(builder_, loc_, value({4}),
                                         ArrayRef<int64_t>{5}));
  EXPECT_NE(error_.find("has another number of elements"), std::string::npos);
}

TEST_F(Builders, ReportAnExtentThatNoTensorHas) {
  EXPECT_FALSE(nn::create<nn::ReshapeOp>(builder_, loc_, value({4}),
                                         ArrayRef<int64_t>{-4}));
  EXPECT_EQ(error_, "'nn.reshape' op no tensor has an extent of -4");
}

TEST_F(Builders, ReportAnElementTypeThatNoTensorHas) {
  Type none = builder_.getNoneType();
  EXPECT_FALSE(nn::create<nn::CastOp>(builder_, loc_, value({4}), none));
  EXPECT_EQ(error_, "'nn.cast' op no tensor has elements of type 'none'");
}

TEST_F(Builders, ReportATypeThatIsNoTensor) {
  auto vector = VectorType::get({2}, builder_.getF32Type());
  EXPECT_FALSE(nn::create<nn::ConstantOp>(
      builder_, loc_, DenseElementsAttr::get(vector, {1.0f, 2.0f})));
  EXPECT_EQ(error_, "'nn.constant' op needs a ranked tensor type, got "
                    "'vector<2xf32>'");
}

TEST_F(Builders, ReportASizeThatOverflows) {
  int64_t large = int64_t{1} << 40;
  Value a = value({large, 1}), b = value({large});
  EXPECT_FALSE(nn::create<nn::MulOp>(builder_, loc_, a, b));
  EXPECT_NE(error_.find("has more bytes than an int64 can count"),
            std::string::npos);
}
