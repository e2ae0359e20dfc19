//===- ElementTest.cpp - Half precision and conversions -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Element.h"

#include <gtest/gtest.h>

#include <random>

using namespace divisi::rt;

/// The value of a float with `exponentBits` and `mantissaBits`, by definition.
static double valueOf(uint16_t bits, int exponentBits, int mantissaBits) {
  int field = bits >> mantissaBits & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  int bias = (1 << (exponentBits - 1)) - 1;
  double value;
  if (field == (1 << exponentBits) - 1) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (field == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissaBits);
  } else {
    value =
        std::ldexp(mantissa + (1 << mantissaBits), field - bias - mantissaBits);
  }
  return bits >> 15 ? -value : value;
}

namespace {
template <typename T> class NarrowFloatTest : public testing::Test {};
} // namespace

using NarrowFloats = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(NarrowFloatTest, NarrowFloats);

template <typename T> static double definition(uint16_t bits) {
  return std::is_same_v<T, Half> ? valueOf(bits, 5, 10) : valueOf(bits, 8, 7);
}

template <typename T> static T fromBits(uint16_t bits) {
  T element;
  element.bits = bits;
  return element;
}

/// All of them there and back.
TYPED_TEST(NarrowFloatTest, EveryValueIsExact) {
  for (int i = 0; i < 65536; ++i) {
    auto bits = static_cast<uint16_t>(i);
    float value = load(fromBits<TypeParam>(bits));
    double expected = definition<TypeParam>(bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(load(TypeParam(value)))) << bits;
      continue;
    }
    ASSERT_EQ(value, expected) << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    ASSERT_EQ(TypeParam(value).bits, bits);
    ASSERT_EQ(TypeParam(double(value)).bits, bits);
  }
}

/// Around every midpoint of neighbours: nearest, and the even one in the
/// middle. What lies a hair beside a midpoint is a float or a double that
/// rounding in two steps would get wrong.
TYPED_TEST(NarrowFloatTest, RoundsToNearestEven) {
  for (int i = 0; i < 65535; ++i) {
    auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
    double a = definition<TypeParam>(low), b = definition<TypeParam>(high);
    if (!std::isfinite(a) || std::isnan(b) || (i & 0x7fff) == 0x7fff) {
      continue;
    }
    // The largest finite one rounds as if the next were a number.
    bool toInfinity = std::isinf(b);
    double step = toInfinity ? a - definition<TypeParam>(low - 1) : b - a;
    double middle = a + step / 2;
    uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(TypeParam(middle).bits, even) << low;
    ASSERT_EQ(TypeParam(std::nextafter(middle, a)).bits, low) << low;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 2 * b - a + step)).bits, high)
        << low;
    if (double(float(middle)) == middle) {
      float f = float(middle);
      ASSERT_EQ(TypeParam(f).bits, even) << low;
      ASSERT_EQ(TypeParam(std::nextafter(f, float(a))).bits, low) << low;
    }
  }
}

TEST(ConvertTest, WideIntegersRoundOnce) {
  // 2^60 + 2^52 is half way between bfloats; one more is above.
  int64_t middle = (int64_t(1) << 60) + (int64_t(1) << 52);
  float below = float(int64_t(1) << 60);
  EXPECT_EQ(load(convertElement<BFloat>(middle)), below);
  EXPECT_GT(load(convertElement<BFloat>(middle + 1)), below);
  EXPECT_LT(load(convertElement<BFloat>(-middle - 1)), -below);
  EXPECT_EQ(load(convertElement<Half>(int64_t(65519))), 65504);
  EXPECT_EQ(load(convertElement<Half>(int64_t(65520))), INFINITY);
  EXPECT_EQ(load(convertElement<Half>(INT64_MIN)), -INFINITY);
  EXPECT_EQ(load(convertElement<BFloat>(UINT64_MAX)), 0x1p64f);
}

TEST(ConvertTest, FloatsSaturateInEveryInteger) {
  EXPECT_EQ(convertElement<int8_t>(300.f), 127);
  EXPECT_EQ(convertElement<int8_t>(-300.f), -128);
  EXPECT_EQ(convertElement<uint8_t>(-0.5f), 0);
  EXPECT_EQ(convertElement<uint8_t>(-3.f), 0);
  EXPECT_EQ(convertElement<uint8_t>(255.9f), 255);
  EXPECT_EQ(convertElement<uint16_t>(Half(70000.f)), 65535);
  EXPECT_EQ(convertElement<uint32_t>(5e9), UINT32_MAX);
  EXPECT_EQ(convertElement<uint64_t>(1e30f), UINT64_MAX);
  EXPECT_EQ(convertElement<int64_t>(-1e30), INT64_MIN);
  EXPECT_EQ(convertElement<int16_t>(BFloat(NAN)), 0);
  EXPECT_EQ(convertElement<int32_t>(-2.9), -2);
}

TEST(ConvertTest, IntegersWrapAndFlagsAreZeroOrOne) {
  EXPECT_EQ(convertElement<uint8_t>(int32_t(-1)), 255);
  EXPECT_EQ(convertElement<int8_t>(int64_t(200)), -56);
  EXPECT_EQ(convertElement<Flag>(NAN).byte, 1);
  EXPECT_EQ(convertElement<Flag>(Half(-0.f)).byte, 0);
  Flag odd;
  odd.byte = 7;
  EXPECT_EQ(convertElement<int32_t>(odd), 1);
  EXPECT_EQ(load(convertElement<Half>(odd)), 1);
  EXPECT_EQ(convertElement<Flag>(odd).byte, 1);
}

/// Doubles at random, also such that lie a hair beside a midpoint of halves.
TEST(ConvertTest, DoublesRoundOnce) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    auto bits = static_cast<uint16_t>(random() & 0x7bff);
    double low = definition<Half>(bits), high = definition<Half>(bits + 1);
    if (std::isinf(high)) {
      continue;
    }
    double value = low + (high - low) * double(random() >> 11) * 0x1p-53;
    if (i % 2 == 0) {
      value = std::nextafter((low + high) / 2, i % 4 == 0 ? low : high);
    }
    double toLow = value - low, toHigh = high - value;
    uint16_t expected = toLow < toHigh   ? bits
                        : toLow > toHigh ? uint16_t(bits + 1)
                                         : uint16_t(bits + (bits & 1));
    ASSERT_EQ(Half(value).bits, expected) << value;
  }
}

TEST(ElementTest, EveryTypeIsDispatchedAndNamed) {
  for (int i = 0; i < int(numDTypes); ++i) {
    DType type = DType(i);
    EXPECT_TRUE(dispatch<AllTypes>(type, [&](auto zero) {
      using T = decltype(zero);
      EXPECT_EQ(typeOf<T>(), type);
      EXPECT_EQ(int64_t(sizeof(T)), byteWidth(type));
      EXPECT_EQ(typeOf<SumTypeOf<T>>(), sumType(type)) << stringify(type);
      EXPECT_EQ(isFloat<T>, isFloatType(type));
    }));
    EXPECT_EQ(parseDType(stringify(type)), type);
  }
}
