//===- CanonicalizeReasonsTest.cpp - Why a pattern of nn does not match ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pattern that declines says why to whoever listens to the rewriter.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "gmock/gmock.h"

#include <set>

using namespace mlir;
using namespace divisi;
using testing::Contains;

namespace {
/// Collects the reasons.
class Reasons : public RewriterBase::Listener {
public:
  void
  notifyMatchFailure(Location loc,
                     function_ref<void(Diagnostic &)> reasonCallback) override {
    Diagnostic diagnostic(loc, DiagnosticSeverity::Remark);
    reasonCallback(diagnostic);
    texts.insert(diagnostic.str());
  }

  std::set<std::string> texts;
};
} // namespace

/// The reasons for which patterns decline to change `body`, in which %x and %y
/// are matrices of 4 by 8, %w is one of 8 by 8 and %s has one element.
static std::set<std::string> reasonsFor(StringRef body) {
  MLIRContext context;
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  context.allowUnregisteredDialects();
  std::string text =
      "func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, "
      "%s: tensor<1x1x1xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {\n" +
      body.str() + "\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  RewritePatternSet patterns(&context);
  context.getLoadedDialect<nn::NNDialect>()->getCanonicalizationPatterns(
      patterns);
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("nn")) {
    name.getCanonicalizationPatterns(patterns, &context);
  }
  Reasons reasons;
  GreedyRewriteConfig config;
  config.setListener(&reasons);
  EXPECT_TRUE(
      succeeded(applyPatternsGreedily(*module, std::move(patterns), config)));
  return reasons.texts;
}

TEST(CanonicalizeReasons, OfIdentitiesAndMovements) {
  auto reasons = reasonsFor(R"mlir(
    %0 = nn.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
    %1 = nn.reshape %0 : (tensor<32xf32>) -> tensor<8x4xf32>
    %2 = nn.transpose %1 {permutation = array<i64: 1, 0>}
      : (tensor<8x4xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>)mlir");
  EXPECT_THAT(reasons,
              Contains("changes its operand, or is told where to run"));
  EXPECT_THAT(reasons, Contains("no plain reshape of a reshape"));
  EXPECT_THAT(reasons, Contains("no plain transpose of a transpose"));
  EXPECT_THAT(reasonsFor(R"mlir(
    %0 = nn.cast %x : (tensor<4x8xf32>) -> tensor<4x8xf16>
    %1 = nn.cast %0 : (tensor<4x8xf16>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>)mlir"),
              Contains("no plain cast of what was widened"));
  EXPECT_THAT(reasonsFor(R"mlir(
    %0 = nn.cast %x : (tensor<4x8xf32>) -> tensor<4x8xf8E5M2>
    %1 = nn.cast %0 : (tensor<4x8xf8E5M2>) -> tensor<4x8xf32>
    %2 = nn.cast %1 : (tensor<4x8xf32>) -> tensor<4x8xf8E5M2>
    %3 = nn.cast %2 : (tensor<4x8xf8E5M2>) -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>)mlir"),
              Contains("infinities do not come back"));
  EXPECT_THAT(reasons, Contains("no matmul of which it is the use"));
  EXPECT_THAT(reasons, Contains("no cast matmul of one use"));
  EXPECT_THAT(reasons, Contains("no plain transpose of one use"));
  EXPECT_THAT(reasons, Contains("no plain insertion of one use into what is "
                                "transposed"));
  EXPECT_THAT(reasons,
              Contains("no attention of which it is the use and leaves rows"));
  EXPECT_THAT(reasonsFor(R"mlir(
    %0 = nn.transpose %x {permutation = array<i64: 1, 0>}
      : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %1 = nn.reshape %0 : (tensor<8x4xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>)mlir"),
              Contains("does not only add or drop extents of 1"));
}

TEST(CanonicalizeReasons, OfProducts) {
  auto reasons = reasonsFor(R"mlir(
    %0 = nn.matmul %x, %w {labels = "mk,kn->mn"}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>)mlir");
  EXPECT_THAT(reasons, Contains("no operand is a plain transpose"));
  EXPECT_THAT(reasons, Contains("no operand repeats a free dim"));
}

TEST(CanonicalizeReasons, OfScalesBeforeMovements) {
  auto twoUsers = reasonsFor(R"mlir(
    %0 = nn.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = nn.add %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>)mlir");
  EXPECT_THAT(twoUsers, Contains("joins two tensors"));
  EXPECT_THAT(twoUsers, Contains("no operand is spread out for it"));
  auto shared = reasonsFor(R"mlir(
    %0 = nn.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = nn.matmul %0, %0 {labels = "mk,nk->mn"}
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %2 = nn.matmul %1, %x {labels = "mk,kn->mn"}
      : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>)mlir");
  EXPECT_THAT(shared, Contains("is not for one user alone"));
  auto unmoved = reasonsFor(R"mlir(
    %0 = nn.add %x, %s : (tensor<4x8xf32>, tensor<1x1x1xf32>) -> tensor<1x4x8xf32>
    %1 = nn.reshape %0 : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>)mlir");
  EXPECT_THAT(unmoved, Contains("its user absorbs no movement"));
  auto larger = reasonsFor(R"mlir(
    %0 = nn.reshape %w : (tensor<8x8xf32>) -> tensor<64xf32>
    %1 = nn.mul %0, %s : (tensor<64xf32>, tensor<1x1x1xf32>) -> tensor<1x1x64xf32>
    %2 = nn.reshape %1 : (tensor<1x1x64xf32>) -> tensor<8x8xf32>
    %3 = nn.matmul %x, %2 {labels = "mk,kn->mn"}
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>)mlir");
  EXPECT_THAT(larger, Contains("a scalar has the larger rank"));
}

TEST(CanonicalizeReasons, OfWhatIsPlanned) {
  auto reasons = reasonsFor(R"mlir(
    %0 = nn.add %x, %y {test.planned}
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>)mlir");
  EXPECT_THAT(reasons, Contains("is annotated or a box"));
}
