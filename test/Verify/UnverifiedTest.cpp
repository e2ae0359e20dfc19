//===- UnverifiedTest.cpp - Programs that the dialects refuse already -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The proof does not lean on the verifiers of operations, which share code with
// what makes layouts: it refuses by itself what they refuse too.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Verify/Partition.h"

#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace divisi;

namespace {

class Unverified : public testing::Test {
protected:
  Unverified() {
    context_.loadDialect<func::FuncDialect, nn::NNDialect, spmd::SPMDDialect>();
  }
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    auto module = parseSourceString<ModuleOp>(
        kTypes + text, ParserConfig(&context_, /*verifyAfterParse=*/false));
    EXPECT_TRUE(module) << text;
    return module;
  }
  /// What the proof says of `module`.
  std::string complaintOf(ModuleOp module) {
    std::string message;
    ScopedDiagnosticHandler handler(&context_, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    return succeeded(verifyPartition(module)) ? "nothing" : message;
  }

  static constexpr char kTypes[] = R"(
    spmd.grid @g (x = 2)
    spmd.grid @h (z = 2) devices [2, 3]
    !four = tensor<2xf32, #spmd.local<(x=2), [x], 4>>
    !six = tensor<3xf32, #spmd.local<(x=2), [x], 6>>
    !there = tensor<2xf32, #spmd.local<(z=2), [z], 4>>
    !six_there = tensor<3xf32, #spmd.local<(z=2), [z], 6>>
  )";
  MLIRContext context_;
};

} // namespace

TEST_F(Unverified, AStepThatChangesTheTensor) {
  auto module = parse(R"(
    func.func @f(%a: !four {spmd.place = #spmd.place<@g: [x]>}) {
      %0 = spmd.exchange %a {grid = @g, axes = ["x"]} : !four -> !six
      return
    })");
  EXPECT_THAT(complaintOf(*module),
              testing::HasSubstr("changes the tensor, expected only its layout "
                                 "to change"));
}

TEST_F(Unverified, AnAxisThatNoGridHas) {
  auto module = parse(R"(
    func.func @f(%a: !four {spmd.place = #spmd.place<@g: [x]>}) {
      %0 = spmd.exchange %a {grid = @g, axes = ["w"]} : !four -> !four
      return
    })");
  EXPECT_THAT(complaintOf(*module),
              testing::HasSubstr("the grid has no axis 'w'"));
}

TEST_F(Unverified, AGridThatNobodyDeclares) {
  auto module = parse(R"(
    func.func @f(%a: !four {spmd.place = #spmd.place<@g: [x]>}) {
      %0 = spmd.exchange %a {grid = @w, axes = ["x"]} : !four -> !four
      return
    })");
  EXPECT_THAT(complaintOf(*module),
              testing::HasSubstr("names the grid @w, but no spmd.grid has that "
                                 "name"));
}

TEST_F(Unverified, ALoopThatTheOperatorLacks) {
  auto module = parse(R"(
    func.func @f(%a: !four {spmd.place = #spmd.place<@g: [x]>}) {
      %0 = nn.neg %a {spmd.split = #spmd.split<@g: w@x>} : (!four) -> !four
      return
    })");
  EXPECT_THAT(complaintOf(*module),
              testing::HasSubstr("the operator has no loop 'w'"));
}

TEST_F(Unverified, AReadOfAnotherTensor) {
  auto module = parse(R"(
    nn.global @w parameter : tensor<6xf32> {spmd.place = #spmd.place<@g: [x]>}
    func.func @f() {
      %0 = nn.read @w : !four
      return
    })");
  EXPECT_THAT(complaintOf(*module),
              testing::HasSubstr("the value is a 'tensor<4xf32>', but the "
                                 "global a 'tensor<6xf32>'"));
}

TEST_F(Unverified, AReadOfNothing) {
  auto module = parse(R"(
    func.func @f() {
      %0 = nn.read @w : !four
      return
    })");
  EXPECT_THAT(complaintOf(*module),
              testing::HasSubstr("no nn.global is called @w"));
}

TEST_F(Unverified, TransfersOfOtherTensors) {
  const char *text = R"(
    func.func @f(%a: !four {spmd.place = #spmd.place<@g: [x]>},
                 %b: !six {spmd.place = #spmd.place<@g: [x]>}) {
      %0 = spmd.transfer %a from @g to @h : !four -> !there
      %1 = spmd.transfer %b from @g to @h : !six -> !six_there
      return
    })";
  auto complaintAfter = [&](auto change) {
    auto module = parse(text);
    SmallVector<spmd::TransferOp> transfers;
    module->walk([&](spmd::TransferOp op) { transfers.push_back(op); });
    change(transfers[0], transfers[1]);
    return complaintOf(*module);
  };
  using spmd::TransferOp;
  EXPECT_EQ(complaintAfter([](TransferOp, TransferOp) {}), "nothing");
  EXPECT_THAT(
      complaintAfter(
          [](TransferOp a, TransferOp b) { a.setSourceType(b.getFrom()); }),
      testing::HasSubstr("its operand is not the source that it names"));
  EXPECT_THAT(complaintAfter([](TransferOp a, TransferOp b) {
                a.setTargetType(b.getTo());
              }),
              testing::HasSubstr("its result is not the target that it names"));
  EXPECT_THAT(complaintAfter([](TransferOp a, TransferOp b) {
                a.getOutput().setType(b.getTo());
                a.setTargetType(b.getTo());
              }),
              testing::HasSubstr("changes the tensor, expected only its layout "
                                 "to change"));
  EXPECT_THAT(complaintAfter([](TransferOp a, TransferOp) {
                a.getOutput().setType(a.getFrom());
                a.setTargetType(a.getFrom());
              }),
              testing::HasSubstr("names grids on which its types do not lie"));
}
