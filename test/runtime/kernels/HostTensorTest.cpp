//===- HostTensorTest.cpp - Tests of tensors in memory --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/HostTensor.h"

#include <cmath>
#include <gmock/gmock.h>
#include <cstring>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(HostTensorTest, beginsWithoutElements) {
  HostTensor tensor;
  EXPECT_EQ(tensor.count(), 0);
  EXPECT_TRUE(tensor.bytes().empty());
  EXPECT_FALSE(tensor.isSplat());
}

TEST(HostTensorTest, copiesShareTheirBytesAndClonesDoNot) {
  HostTensor tensor = HostTensor::ofFloats({2, 2}, {1, 2, 3, 4});
  HostTensor copy = tensor, flat = tensor.reshaped({4});
  Expected<HostTensor> clone = tensor.clone();
  ASSERT_TRUE(clone);
  tensor.as<float>()[0] = 7;
  EXPECT_EQ(copy.floatAt(0), 7);
  EXPECT_EQ(flat.floatAt(0), 7);
  EXPECT_EQ(clone->floatAt(0), 1);
  EXPECT_EQ(clone->dims(), Dims({2, 2}));
}

TEST(HostTensorTest, bytesMustFitTheShape) {
  std::vector<std::byte> bytes(7);
  auto few = HostTensor::copyOf(DType::I32, {2}, bytes);
  EXPECT_EQ(few.status().code(), ExitCode::Invalid);
  EXPECT_THAT(few.status().message(),
              HasSubstr("got 7 bytes for a tensor i32[2], expected 8"));
  auto huge = HostTensor::zeros(DType::I32, {int64_t{1} << 61, 2});
  EXPECT_EQ(huge.status().code(), ExitCode::Invalid);
  auto negative = HostTensor::zeros(DType::I32, {-1});
  EXPECT_EQ(negative.status().code(), ExitCode::Invalid);
  auto large = HostTensor::zeros(DType::I32, {int64_t{1} << 60});
  EXPECT_EQ(large.status().code(), ExitCode::Device);
}

TEST(HostTensorTest, booleansBecomeZeroOrOne) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{2}, std::byte{255}};
  auto tensor = HostTensor::copyOf(DType::Bool, {3}, bytes);
  ASSERT_TRUE(tensor);
  EXPECT_THAT(tensor->as<uint8_t>(), ElementsAre(0, 1, 1));
}

TEST(HostTensorTest, splatsHaveEqualBits) {
  EXPECT_TRUE(HostTensor::ofInts({3}, {5, 5, 5}).isSplat());
  EXPECT_TRUE(HostTensor::ofInts({}, {5}).isSplat());
  EXPECT_FALSE(HostTensor::ofInts({3}, {5, 5, 6}).isSplat());
  EXPECT_FALSE(HostTensor::ofFloats({2}, {0.0f, -0.0f}).isSplat());
}

TEST(HostTensorTest, castsAsOnnxDoes) {
  HostTensor floats =
      HostTensor::ofFloats({5}, {-2.9f, 0.5f, NAN, 1e30f, -1e30f});
  auto ints = floats.castTo(DType::I32);
  ASSERT_TRUE(ints);
  EXPECT_THAT(ints->as<int32_t>(), ElementsAre(-2, 0, 0, INT32_MAX, INT32_MIN));
  auto flags = floats.castTo(DType::Bool);
  ASSERT_TRUE(flags);
  EXPECT_THAT(flags->as<uint8_t>(), ElementsAre(1, 1, 1, 1, 1));
  auto halves = floats.castTo(DType::F16);
  ASSERT_TRUE(halves);
  EXPECT_EQ(halves->floatAt(1), 0.5);
  EXPECT_EQ(halves->floatAt(3), INFINITY);
}

TEST(HostTensorTest, readsHalfPrecision) {
  const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x7e00};
  auto tensor =
      HostTensor::copyOf(DType::F16, {5}, std::as_bytes(std::span(halves)));
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->floatAt(0), 1);
  EXPECT_EQ(tensor->floatAt(1), -2);
  EXPECT_EQ(tensor->floatAt(2), std::ldexp(1, -24));
  EXPECT_TRUE(std::isinf(tensor->floatAt(3)));
  EXPECT_TRUE(std::isnan(tensor->floatAt(4)));
}

// Large pages hold whole multiples of their size.
TEST(HostTensorTest, largeBytesBeginWhereLargePagesDo) {
  constexpr int64_t page = int64_t(2) << 20;
  for (int64_t size : {int64_t(1), page - 1, page, 3 * page + 5}) {
    auto bytes = AlignedBytes::allocate(size);
    ASSERT_TRUE(bytes);
    auto address = reinterpret_cast<uintptr_t>(bytes->data());
    EXPECT_EQ(address % (size < page ? 64 : page), 0u) << size;
    std::memset(bytes->data(), 1, size_t(size));
  }
  EXPECT_FALSE(AlignedBytes::allocate(INT64_MAX));
  EXPECT_FALSE(AlignedBytes::allocate(-1));
}
