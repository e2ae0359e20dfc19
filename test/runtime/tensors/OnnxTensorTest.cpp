//===- OnnxTensorTest.cpp - Tests of ONNX's tensors -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/tensors/TensorFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

static std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span<const char>(text));
}

TEST(OnnxTensorTest, readsRawAndTypedData) {
  // dims: 2 (field 1), data_type: 6 = int32, name "x" (8), raw_data (9).
  std::string raw("\x08\x02\x10\x06\x42\x01x\x4a\x08\x01\0\0\0\xff\xff\xff\xff",
                  17);
  auto tensor = parseOnnxTensor(bytesOf(raw));
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_EQ(tensor->name(), "x");
  EXPECT_THAT(tensor->as<int32_t>(), ElementsAre(1, -1));
  // The same in int32_data (5), packed, as a boolean tensor (9).
  std::string typed("\x08\x02\x10\x09\x2a\x02\x00\x07", 8);
  tensor = parseOnnxTensor(bytesOf(typed));
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_THAT(tensor->as<uint8_t>(), ElementsAre(0, 1));
}

TEST(OnnxTensorTest, readsTwoElementsOfAByte) {
  // dims: 3, data_type: 22 = int4, raw_data; then the same in int32_data.
  for (const char *message : {"\x08\x03\x10\x16\x4a\x02\x8f\x07",
                              "\x08\x03\x10\x16\x2a\x03\x8f\x01\x07"}) {
    auto tensor = parseOnnxTensor(bytesOf(std::string(message)));
    ASSERT_TRUE(tensor) << tensor.status().message();
    EXPECT_EQ(tensor->type(), DType::I4);
    EXPECT_THAT(tensor->toInts(), ElementsAre(-1, -8, 7));
  }
  // uint4, and a byte too many.
  auto tensor =
      parseOnnxTensor(bytesOf(std::string("\x08\x01\x10\x15\x4a\x01\x0f")));
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_THAT(tensor->toInts(), ElementsAre(15));
  tensor =
      parseOnnxTensor(bytesOf(std::string("\x08\x02\x10\x15\x4a\x02\x01\x01")));
  ASSERT_FALSE(tensor);
  EXPECT_THAT(tensor.status().message(),
              HasSubstr("got 2 bytes for an ONNX tensor u4[2], expected 1"));
}

TEST(OnnxTensorTest, readsFourElementsOfAByte) {
  // dims: 5, data_type: 26 = int2, raw_data, then 25 = uint2 in int32_data.
  auto tensor =
      parseOnnxTensor(bytesOf(std::string("\x08\x05\x10\x1a\x4a\x02\x1e\x03")));
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_THAT(tensor->toInts(), ElementsAre(-2, -1, 1, 0, -1));
  tensor =
      parseOnnxTensor(bytesOf(std::string("\x08\x05\x10\x19\x2a\x02\x1e\x03")));
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_THAT(tensor->toInts(), ElementsAre(2, 3, 1, 0, 3));
  // float4e2m1: 1 and -6.
  tensor =
      parseOnnxTensor(bytesOf(std::string("\x08\x02\x10\x17\x4a\x01\xf2")));
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_EQ(tensor->floatAt(0), 1);
  EXPECT_EQ(tensor->floatAt(1), -6);
  tensor =
      parseOnnxTensor(bytesOf(std::string("\x08\x05\x10\x19\x4a\x01\x01")));
  ASSERT_FALSE(tensor);
  EXPECT_THAT(tensor.status().message(),
              HasSubstr("got 1 bytes for an ONNX tensor u2[5], expected 2"));
}

TEST(OnnxTensorTest, readsFloatsOfEightBits) {
  // float8e4m3fn and float8e5m2, raw and typed; their forms with one zero, and
  // a power of two.
  for (const char *message :
       {"\x08\x01\x10\x11\x4a\x01\x38", "\x08\x01\x10\x11\x2a\x01\x38",
        "\x08\x01\x10\x13\x4a\x01\x3c", "\x08\x01\x10\x12\x4a\x01\x40",
        "\x08\x01\x10\x14\x4a\x01\x40", "\x08\x01\x10\x18\x4a\x01\x7f"}) {
    auto tensor = parseOnnxTensor(bytesOf(std::string(message)));
    ASSERT_TRUE(tensor) << tensor.status().message();
    EXPECT_EQ(tensor->floatAt(0), 1);
  }
}

TEST(OnnxTensorTest, saysWhatIsWrong) {
  auto cut =
      parseOnnxTensor(bytesOf(std::string("\x08\x02\x10\x01\x4a\x09", 6)));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.status().message(), HasSubstr("not an ONNX tensor"));
  auto strings = parseOnnxTensor(bytesOf(std::string("\x10\x08", 2)));
  ASSERT_FALSE(strings);
  EXPECT_EQ(strings.status().code(), ExitCode::Unsupported);
  auto few = parseOnnxTensor(bytesOf(std::string("\x08\x02\x10\x01", 4)));
  ASSERT_FALSE(few);
  EXPECT_THAT(few.status().message(), HasSubstr("got 0 bytes"));
}
