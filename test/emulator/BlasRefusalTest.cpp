//===- BlasRefusalTest.cpp - What the emulated cuBLASLt refuses -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/BlasProblem.h"

#include <gtest/gtest.h>

using namespace divisi;

TEST(EmulatedBlas, RefusesWhatTheTablesDoNotHave) {
  using emulator::BlasProblem;
  BlasProblem good{{CUBLAS_COMPUTE_32F, CUDA_R_32F},
                   {CUDA_R_32F, 3, 5, 3},
                   {CUDA_R_32F, 5, 7, 6},
                   {CUDA_R_32F, 3, 7, 3},
                   {CUDA_R_32F, 3, 7, 3}};
  EXPECT_FALSE(good.refusal());
  auto refuses = [&](auto change) {
    BlasProblem bad = good;
    change(bad);
    return bad.refusal().has_value();
  };
  EXPECT_TRUE(refuses([](auto &bad) { bad.a.leading = 2; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.b.rows = 4; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.d.columns = 6; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.b.batch = 2; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.a.type = CUDA_R_16F; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.what.scale = CUDA_R_64F; }));
  EXPECT_TRUE(refuses([](auto &bad) { bad.what.transA = CUBLAS_OP_T; }));
  EXPECT_TRUE(refuses([](auto &bad) {
    bad.what.epilogue = CUBLASLT_EPILOGUE_BIAS; // and no bias
  }));
  EXPECT_TRUE(
      refuses([](auto &bad) { bad.what.epilogue = CUBLASLT_EPILOGUE_RELU; }));
}
