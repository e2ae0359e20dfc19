//===- MarkTrainedTest.cpp - Which globals are weights --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Known.h"
#include "dialects/NN/NN.h"
#include "divisi/Autodiff/Gradients.h"
#include "divisi/Autodiff/Training.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace divisi;

namespace {

class MarkTrainedTest : public testing::Test {
protected:
  MarkTrainedTest() {
    mlir::DialectRegistry registry;
    registry.insert<nn::NNDialect, mlir::func::FuncDialect>();
    registerGradients(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
    options_.loss = "mse";
  }

  /// ` from …`, where the store has these numbers.
  std::string from(const std::vector<float> &numbers) {
    ByteRange range = store_.addBlob(std::as_bytes(std::span(numbers)));
    return " from \"" + range.file + "\" [" + std::to_string(range.offset) +
           ", " + std::to_string(range.length) + "]";
  }

  /// A model that ends with %y, of 4 x 4 floats, and takes %x, as large.
  Expected<TrainedWeights> mark(const std::string &globals,
                                const std::string &lines) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(globals + R"(
        nn.global @w parameter : tensor<4x4xf32>
        func.func @forward(%x: tensor<4x4xf32> {nn.name = "x"})
            -> (tensor<4x4xf32> {nn.name = "y"}) {
          %w = nn.read @w : tensor<4x4xf32>
          %0 = nn.add %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        )" + lines + R"(
          return %y : tensor<4x4xf32>
        })",
                                                      &context_);
    EXPECT_TRUE(module_);
    return markTrained(*module_, store_, options_);
  }

  /// Why @g is not trained; empty if it is. @w is.
  std::string reason(const std::string &global, const std::string &lines) {
    auto weights = mark("nn.global @g parameter : " + global, lines);
    EXPECT_TRUE(weights) << weights.status().message();
    EXPECT_TRUE(module_->lookupSymbol("w")->hasAttr(nn::kTrainedAttr));
    bool isMarked = module_->lookupSymbol("g")->hasAttr(nn::kTrainedAttr);
    EXPECT_EQ(isMarked, weights->frozen.empty());
    EXPECT_EQ(weights->count, isMarked ? 2 : 1);
    return isMarked ? "" : weights->frozen.front().second;
  }

  mlir::MLIRContext context_;
  GlobalStore store_;
  TrainOptions options_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

} // namespace

static const char *kAdded = R"(
  %g = nn.read @g : tensor<4x4xf32>
  %y = nn.add %0, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>)";

TEST_F(MarkTrainedTest, NumbersTellMasks) {
  std::vector<float> ones(16, 1), zeros(16), mask(16), low(16), bias(16);
  for (size_t i = 0; i < 16; i += 3) {
    mask[i] = 1;
    low[i] = -INFINITY;
    bias[i] = 0.5;
  }
  EXPECT_EQ(reason("tensor<4x4xf32>" + from(mask), kAdded), "a mask");
  EXPECT_EQ(reason("tensor<4x4xf32>" + from(low), kAdded), "a mask");
  EXPECT_EQ(reason("tensor<4x4xf32>" + from(ones), kAdded), "");
  EXPECT_EQ(reason("tensor<4x4xf32>" + from(zeros), kAdded), "");
  EXPECT_EQ(reason("tensor<4x4xf32>" + from(bias), kAdded), "");
  EXPECT_EQ(reason("tensor<4x4xf32>", kAdded), "");
}

TEST_F(MarkTrainedTest, UseTellsWhatIsNoWeight) {
  EXPECT_EQ(
      reason("tensor<4x4xf32> {nn.statistic}", kAdded),
      "running statistics, which stay as they are: export in training mode "
      "to have them follow the batches");
  EXPECT_EQ(reason("tensor<4x4xf32>", R"(
      %g = nn.read @g : tensor<4x4xf32>
      %1 = nn.floor %g : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %y = nn.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>)
          -> tensor<4x4xf32>)"),
            "the loss does not change smoothly with it");
  EXPECT_EQ(reason("tensor<4x2xf32>", R"(
      %g = nn.read @g : tensor<4x2xf32>
      %1 = nn.slice %g {starts = array<i64: 0, 0>, limits = array<i64: 4, 2>,
          steps = array<i64: 1, 1>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %2 = nn.concat %1, %1 {axis = 1} : (tensor<4x2xf32>, tensor<4x2xf32>)
          -> tensor<4x4xf32>
      %y = nn.mul %0, %2 : (tensor<4x4xf32>, tensor<4x4xf32>)
          -> tensor<4x4xf32>)"),
            "a rotary table");
  EXPECT_EQ(reason("tensor<4xf32>", "%y = nn.exp %0 : (tensor<4x4xf32>) "
                                    "-> tensor<4x4xf32>"),
            "read in a body, through which no gradient goes yet");
}

// Waves of positions are tables; those of what is computed are activations.
TEST_F(MarkTrainedTest, AnglesAreOfPositions) {
  auto wave = [](const char *factor) {
    return std::string(R"(
      %g = nn.read @g : tensor<4xf32>
      %i = nn.iota {axis = 0} : () -> tensor<4x4xi64>
      %p = nn.cast %i : (tensor<4x4xi64>) -> tensor<4x4xf32>
      %a = nn.mul )") +
           factor + R"(, %g : (tensor<4x4xf32>, tensor<4xf32>)
          -> tensor<4x4xf32>
      %c = nn.cos %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %y = nn.mul %0, %c : (tensor<4x4xf32>, tensor<4x4xf32>)
          -> tensor<4x4xf32>)";
  };
  EXPECT_EQ(reason("tensor<4xf32>", wave("%p")), "angles of positions");
  // Large tables of positions are globals.
  EXPECT_EQ(reason("tensor<4xf32>\nnn.global @table constant : "
                   "tensor<4x4xf32>" +
                       from(std::vector<float>(16, 1)),
                   "%t = nn.read @table : tensor<4x4xf32>" + wave("%t")),
            "angles of positions");
  EXPECT_EQ(reason("tensor<4xf32>", wave("%x")), "");
}

TEST_F(MarkTrainedTest, NamesComeBeforeTheRule) {
  options_.only = {"g"};
  auto weights =
      mark("nn.global @g parameter : tensor<4x4xf32> {nn.statistic}", kAdded);
  ASSERT_TRUE(weights);
  EXPECT_EQ(describe(*weights), "training 1 weights of 16 elements; not 'w' "
                                "(not among --train-only)");
  options_.only = {"g", "w"};
  options_.freeze = {"w*"};
  weights = mark("nn.global @g parameter : tensor<4x4xf32>", kAdded);
  ASSERT_TRUE(weights);
  EXPECT_EQ(describe(*weights),
            "training 1 weights of 16 elements; not 'w' (--freeze)");
}

TEST_F(MarkTrainedTest, EditedNotesAreRefused) {
  ASSERT_TRUE(mark("", "%y = nn.exp %0 : (tensor<4x4xf32>) -> "
                       "tensor<4x4xf32>"));
  EXPECT_EQ(notedTraining(*module_)->loss, "mse");
  auto note = (*module_)->getAttrOfType<mlir::DictionaryAttr>("divisi.train");
  mlir::NamedAttrList changed(note);
  changed.set("rate", mlir::StringAttr::get(&context_, "fast"));
  (*module_)->setAttr("divisi.train", changed.getDictionary(&context_));
  EXPECT_EQ(notedTraining(*module_).status().message(),
            "divisi.train has no 'rate' such as --train writes; dump the "
            "module again, or remove the attribute to compile the model as it "
            "is");
}
