//===- GridProductsTest.cpp - Products that no library does ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That they are right: CudaMatmulTest, CudaConvTest, CudaConformanceTest.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/runtime/code/GridConvolution.h"
#include "divisi/runtime/code/GridProduct.h"
#include "test/emulator/Ptxas.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::test;

namespace {

/// Of matrices.
struct ProductCall {
  rt::TensorInfo operands[2], result;
  rt::Attributes attributes{{"labels", std::string("mk,kn->mn")}};

  explicit ProductCall(rt::DType type)
      : operands{rt::TensorInfo::whole(type, {20, 40}),
                 rt::TensorInfo::whole(type, {40, 30})},
        result(rt::TensorInfo::whole(type, {20, 30})) {}
  rt::CallSite site() const {
    return {"nn.matmul", attributes, operands, {&result, 1}};
  }
};

/// 5 by 5 images of 2 groups.
struct ConvolutionCall {
  rt::TensorInfo operands[2], result;
  rt::Attributes attributes{
      {"groups", int64_t(2)},        {"strides", rt::Dims{1, 1}},
      {"dilations", rt::Dims{1, 1}}, {"pads_lo", rt::Dims{1, 1}},
      {"pads_hi", rt::Dims{1, 1}},   {"extents", rt::Dims{5, 5}}};

  explicit ConvolutionCall(rt::DType type)
      : operands{rt::TensorInfo::whole(type, {2, 6, 5, 5}),
                 rt::TensorInfo::whole(type, {6, 3, 3, 3})},
        result(rt::TensorInfo::whole(type, {2, 6, 5, 5})) {}
  rt::CallSite site(const std::string &op) const {
    return {op, attributes, operands, {&result, 1}};
  }
};

} // namespace

/// Codes of which the left ones have a tensor for a zero point.
TEST(GridProducts, AreNamedByTheirStructure) {
  rt::TensorInfo operands[] = {rt::TensorInfo::whole(rt::DType::U8, {20, 40}),
                               rt::TensorInfo::whole(rt::DType::I8, {40, 30}),
                               rt::TensorInfo::whole(rt::DType::U8, {})};
  rt::TensorInfo result = rt::TensorInfo::whole(rt::DType::I32, {20, 30});
  rt::Attributes attributes{{"labels", std::string("mk,kn->mn")},
                            {"a_zero", int64_t(0)},
                            {"b_zero", int64_t(3)}};
  EXPECT_EQ(
      gridStructure({"nn.matmul_integer", attributes, operands, {&result, 1}}),
      "multiply u8 by i8 to i32, loops 0 1 1 1, a zero point");
  ConvolutionCall images(rt::DType::U8);
  images.result.type = rt::DType::I32;
  images.attributes.set("x_zero", int64_t(7));
  images.attributes.set("w_zero", int64_t(0));
  EXPECT_EQ(gridStructure(images.site("nn.conv_integer")),
            "convolve u8 by u8 to i32, 2 dims, zero points");
  EXPECT_EQ(
      gridStructure(ConvolutionCall(rt::DType::F32).site("nn.conv_dgrad")),
      "spread f32 by f32 to f32, 2 dims");
}

TEST(GridProducts, ArePtxThatPtxasTakes) {
  EXPECT_EQ(gridStructure(ConvolutionCall(rt::DType::F64).site("nn.conv")),
            "convolve f64 by f64 to f64, 2 dims");
  EXPECT_EQ(gridStructure(ProductCall(rt::DType::I8).site()),
            "multiply i8 by i8 to i8, loops 0 1 1 1");
  if (!hasPtxas()) {
    GTEST_SKIP() << "no ptxas";
  }
  for (rt::DType type : {rt::DType::F64, rt::DType::BF16, rt::DType::U8}) {
    EXPECT_EQ(assembleKernel(ProductCall(type).site()), "");
    for (const char *op : {"nn.conv", "nn.conv_dgrad"}) {
      EXPECT_EQ(assembleKernel(ConvolutionCall(type).site(op)), "");
    }
  }
}
