//===- GridPtxTest.cpp - The assembler takes what is generated ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of what has no test that assembles each kernel that it runs.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/runtime/code/GridAttentionGradient.h"
#include "divisi/runtime/code/GridCode.h"
#include "test/Codegen/DrawnRegion.h"
#include "test/Sample.h"
#include "test/emulator/GridCalls.h"
#include "test/emulator/Ptxas.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

/// (That the assembler takes it: countKernel().)
TEST(GridPtx, AreTheSamePtxEachTime) {
  int kernels = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    RegionCall call = DrawnRegion(seed).call(50);
    if (!generatesGridKernel(call.site())) {
      continue;
    }
    auto once = generateGridKernel(call.site(), rt::ptxTarget("sm_80"));
    auto twice = generateGridKernel(call.site(), rt::ptxTarget("sm_80"));
    ASSERT_TRUE(once && twice) << once.status().message();
    EXPECT_EQ(*once, *twice);
    ++kernels;
  }
  EXPECT_GT(kernels, 20);
}

TEST(GridPtx, OfSinglesIsTaken) {
  if (!hasPtxas()) {
    GTEST_SKIP() << "no ptxas";
  }
  for (rt::DType type : {rt::DType::F64, rt::DType::F32, rt::DType::BF16}) {
    for (int64_t features : {32, 64, 128, 256}) {
      // The least and the most of one type each.
      if (!isSweep() && features != (type == rt::DType::BF16 ? 256 : 32)) {
        continue;
      }
      int64_t depth = type == rt::DType::BF16 ? features : 64;
      AttentionCall call(type, depth, features);
      EXPECT_EQ(assembleKernel(call.site()), "");
    }
  }
  for (rt::DType type : {rt::DType::F64, rt::DType::F16, rt::DType::I8}) {
    for (int64_t axis : {0, 1}) {
      EXPECT_EQ(assembleKernel(ReduceCall(type, axis).site()), "");
    }
  }
  for (rt::DType type : {rt::DType::I32, rt::DType::I64}) {
    rt::TensorInfo operands[] = {rt::TensorInfo::whole(rt::DType::F16, {50, 8}),
                                 rt::TensorInfo::whole(type, {7})};
    rt::TensorInfo result = rt::TensorInfo::whole(rt::DType::F16, {7, 8});
    rt::Attributes attributes{{"axis", int64_t(0)}, {"batch_dims", int64_t(0)}};
    EXPECT_EQ(assembleKernel({"nn.gather", attributes, operands, {&result, 1}}),
              "");
  }
}

/// What limits which keys are attended, by number: nothing, a window and scores
/// that are bounded, flags, biases.
static void limitKeys(AttentionCall &call, size_t how) {
  if (how == 1) {
    call.attributes.set("left", int64_t(7));
    call.attributes.set("right", int64_t(0));
    call.attributes.set("softcap", 30.0);
  } else if (how > 1) {
    rt::DType type = how == 2 ? rt::DType::Bool : call.result.type;
    call.operands.push_back(rt::TensorInfo::whole(type, {1, 2, 20, 50}));
  }
}

// Of 192 features sums are 96 of a thread's 255 registers.
TEST(GridPtx, OfWideHeadsIsTaken) {
  if (!hasPtxas()) {
    GTEST_SKIP() << "no ptxas";
  }
  const std::pair<int64_t, int64_t> sizes[] = {
      {128, 128}, {192, 128}, {160, 160}, {256, 64}, {136, 192}, {256, 192}};
  size_t number = 0;
  for (auto [depth, features] : sizes) {
    for (size_t how : {0, 1, 2, 3}) {
      rt::DType type = ++number % 2 ? rt::DType::F16 : rt::DType::BF16;
      // In a sample each `how` once, of both types.
      if (!isSweep() && number % 7 != 1) {
        continue;
      }
      AttentionCall call(type, depth, features);
      limitKeys(call, how);
      auto attention = rt::GridAttention::of(call.site());
      ASSERT_TRUE(attention && attention->usesTensorCores());
      EXPECT_EQ(assembleKernel(call.site()), "")
          << depth << " " << features << " " << how;
    }
  }
}

// Of 192 columns sums are 96 registers, and two products of pairs are 32.
TEST(GridPtx, OfGradientsOfAttentionIsTaken) {
  if (!hasPtxas()) {
    GTEST_SKIP() << "no ptxas";
  }
  const std::pair<int64_t, int64_t> sizes[] = {
      {64, 64}, {128, 128}, {80, 96}, {192, 128}, {128, 192}, {192, 32}};
  size_t number = 0, onTensorCores = 0;
  for (auto [depth, features] : sizes) {
    for (char of : {'q', 'k', 'v'}) {
      for (rt::DType type :
           {rt::DType::F16, rt::DType::BF16, rt::DType::F32, rt::DType::F64}) {
        // In a sample each operand and each type.
        if (!isSweep() && number++ % 7 != 1) {
          continue;
        }
        AttentionGradientCall call(type, of, depth, features);
        if (number % 2) {
          call.attributes.set("right", int64_t(0));
          call.attributes.set("softcap", 30.0);
        }
        auto gradient = rt::GridAttentionGradient::of(call.site());
        ASSERT_TRUE(gradient);
        onTensorCores += gradient->usesTensorCores;
        EXPECT_EQ(assembleKernel(call.site()), "")
            << depth << " " << features << " " << of;
      }
    }
  }
  EXPECT_GT(onTensorCores, 0U);
}

TEST(GridPtx, OfMovesIsTaken) {
  if (!hasPtxas()) {
    GTEST_SKIP() << "no ptxas";
  }
  for (rt::DType type :
       {rt::DType::Bool, rt::DType::F16, rt::DType::F32, rt::DType::I64}) {
    for (bool hasSquares : {false, true}) {
      rt::Dims from = {5, 40, 70}, to = {5, 70, 40};
      rt::TensorInfo operand = rt::TensorInfo::whole(type, from);
      rt::TensorInfo result =
          rt::TensorInfo::whole(type, hasSquares ? to : rt::Dims{40, 5, 70});
      rt::Attributes attributes;
      attributes.set("permutation",
                     hasSquares ? rt::Dims{0, 2, 1} : rt::Dims{1, 0, 2});
      rt::CallSite site{
          "nn.transpose", attributes, {&operand, 1}, {&result, 1}};
      auto ptx = generateGridKernel(site, rt::ptxTarget("sm_80"));
      ASSERT_TRUE(ptx) << ptx.status().message();
      EXPECT_EQ(ptx->find(".shared") != ptx->npos, hasSquares);
      ASSERT_EQ(assembleKernel(site), "");
    }
  }
}
