//===- StorageTest.cpp - What is stored in a byte -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every code of the floats of up to eight bits, by their definition, and every
// point at which rounding changes.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/HostTensor.h"
#include "test/runtime/kernels/ReferenceCalls.h"

#include <cmath>

using namespace divisi::rt;
using namespace divisi::rt::test;
using testing::ElementsAre;

/// The value of a code by OCP's definition (8-bit floating point, 2023; for
/// four bits Microscaling formats, 2023), or for those with one zero by
/// Noune et al. (8-bit numerical formats for deep neural networks, 2022).
template <typename T> static double definition(int code) {
  constexpr bool isE5 = std::is_same_v<T, Float8E5M2>;
  constexpr bool isFnuz =
      std::is_same_v<T, Float8E4M3FNUZ> || std::is_same_v<T, Float8E5M2FNUZ>;
  constexpr bool isFour = std::is_same_v<T, Float4E2M1>;
  constexpr int mantissaBits = isFour                                      ? 1
                               : isE5 || std::is_same_v<T, Float8E5M2FNUZ> ? 2
                                                                           : 3;
  constexpr int bits = isFour ? 4 : 8;
  constexpr int bias = (1 << (bits - 2 - mantissaBits)) - !isFnuz;
  int magnitude = code & ((1 << (bits - 1)) - 1);
  int field = magnitude >> mantissaBits;
  int mantissa = code & ((1 << mantissaBits) - 1);
  double sign = magnitude == code ? 1 : -1;
  if (isE5 && field == 31) {
    return mantissa == 0 ? sign * INFINITY : NAN;
  }
  if (isFnuz ? code == 0x80 : !isFour && magnitude == 0x7f && !isE5) {
    return NAN;
  }
  int implicit = field == 0 ? 0 : 1 << mantissaBits;
  return sign * std::ldexp(mantissa + implicit,
                           std::max(field, 1) - bias - mantissaBits);
}

/// How many codes a type has.
template <typename T> static constexpr int count = 1 << T::layout.width;

template <typename T> static T fromCode(int code) {
  T element;
  element.bits = static_cast<uint8_t>(code);
  return element;
}

namespace {
template <typename T> class Float8Test : public testing::Test {};
} // namespace

using Float8s = testing::Types<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2,
                               Float8E5M2FNUZ, Float4E2M1>;
TYPED_TEST_SUITE(Float8Test, Float8s);

TYPED_TEST(Float8Test, EveryCodeIsExact) {
  for (int code = 0; code < count<TypeParam>; ++code) {
    float value = load(fromCode<TypeParam>(code));
    double expected = definition<TypeParam>(code);
    ASSERT_EQ(std::signbit(value), code >= count<TypeParam> / 2) << code;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << code;
      ASSERT_TRUE(std::isnan(load(TypeParam(value)))) << code;
      continue;
    }
    ASSERT_EQ(value, expected) << code;
    ASSERT_EQ(TypeParam(value, /*saturates=*/false).bits, code);
    ASSERT_EQ(TypeParam(double(value), /*saturates=*/false).bits, code);
  }
}

/// Between neighbours of either sign, from every type that has the point.
TYPED_TEST(Float8Test, RoundsToNearestEven) {
  for (int code = 0; code < count<TypeParam> - 1; ++code) {
    double a = definition<TypeParam>(code), b = definition<TypeParam>(code + 1);
    if (!std::isfinite(a) || !std::isfinite(b) ||
        code == count<TypeParam> / 2 - 1) {
      continue;
    }
    double middle = (a + b) / 2;
    int even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(TypeParam(middle).bits, even) << code;
    ASSERT_EQ(TypeParam(std::nextafter(middle, a)).bits, code);
    ASSERT_EQ(TypeParam(std::nextafter(middle, b)).bits, code + 1);
    auto f = float(middle);
    ASSERT_EQ(double(f), middle);
    ASSERT_EQ(TypeParam(f).bits, even) << code;
    ASSERT_EQ(TypeParam(std::nextafter(f, float(a))).bits, code);
    ASSERT_EQ(TypeParam(std::nextafter(f, float(b))).bits, code + 1);
    Half half(middle);
    if (double(load(half)) == middle) {
      ASSERT_EQ(convertElement<TypeParam>(half).bits, even) << code;
    }
  }
}

/// What rounds to the largest number, and what is beyond.
template <typename T>
static void expectOverflow(float largest, float limit, int beyond) {
  auto top = static_cast<uint8_t>(T(largest).bits);
  EXPECT_EQ(load(T(largest)), largest);
  EXPECT_EQ(T(std::nextafter(limit, 0.f), false).bits, top);
  for (float value : {std::nextafter(limit, inf), 1e30f, inf}) {
    EXPECT_EQ(T(value).bits, top);
    EXPECT_EQ(T(-value).bits, top | T::layout.signBit());
    EXPECT_EQ(T(value, false).bits, beyond);
    EXPECT_EQ(T(-value, false).bits, beyond | T::layout.signBit());
    EXPECT_EQ(T(double(-value), false).bits, beyond | T::layout.signBit());
  }
}

TEST(Float8Test, SaturatesUnlessToldNotTo) {
  expectOverflow<Float8E4M3FN>(448, 464, 0x7f);
  expectOverflow<Float8E5M2>(57344, 61440, 0x7c);
  expectOverflow<Float8E4M3FNUZ>(240, 248, 0x80);
  expectOverflow<Float8E5M2FNUZ>(57344, 61440, 0x80);
  expectOverflow<Float4E2M1>(6, 7, 7);
  // Half way, the even one of the largest and what would be the next.
  EXPECT_EQ(Float8E4M3FN(464.f, false).bits, 0x7e);
  EXPECT_EQ(Float8E5M2(61440.f, false).bits, 0x7c);
  EXPECT_EQ(convertElement<Float8E4M3FN>(int64_t(1) << 40).bits, 0x7e);
  EXPECT_EQ(convertElement<Float8E5M2>(INT64_MIN, false).bits, 0xfc);
  EXPECT_EQ(convertElement<Float8E5M2>(true).bits, 0x3c);
}

TEST(Float8Test, SomeHaveOneZeroAndOneNan) {
  for (float value : {0.f, -0.f, 1e-9f, -1e-9f}) {
    EXPECT_EQ(Float8E4M3FNUZ(value).bits, 0);
    EXPECT_EQ(Float8E5M2FNUZ(value).bits, 0);
  }
  EXPECT_EQ(Float8E4M3FNUZ(-NAN).bits, 0x80);
  EXPECT_EQ(Float8E5M2FNUZ(NAN, false).bits, 0x80);
  EXPECT_EQ(Float4E2M1(-0.f).bits, 8);
  EXPECT_EQ(load(Float4E2M1(NAN)), 0);
}

TEST(PowerOfTwoTest, EveryCodeIsExact) {
  for (int code = 0; code < 255; ++code) {
    auto power = fromCode<Float8E8M0>(code);
    ASSERT_EQ(double(load(power)), std::ldexp(1.0, code - 127));
    ASSERT_EQ(Float8E8M0(load(power), false).bits, code);
    ASSERT_EQ(Float8E8M0(double(load(power)), false).bits, code);
  }
  EXPECT_TRUE(std::isnan(load(fromCode<Float8E8M0>(255))));
}

TEST(PowerOfTwoTest, RoundsUpAndSaturates) {
  for (int exponent = -127; exponent < 127; ++exponent) {
    double power = std::ldexp(1.0, exponent);
    ASSERT_EQ(Float8E8M0(std::nextafter(power, INFINITY)).bits, exponent + 128);
    ASSERT_EQ(Float8E8M0(float(power * 1.5)).bits, exponent + 128);
  }
  for (float small : {0.f, -0.f, 0x1p-128f, 1e-45f}) {
    EXPECT_EQ(Float8E8M0(small).bits, 0);
    EXPECT_EQ(Float8E8M0(small, false).bits, 255);
  }
  for (float large : {inf, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(Float8E8M0(large).bits, 254);
    EXPECT_EQ(Float8E8M0(large, false).bits, 255);
  }
  EXPECT_EQ(Float8E8M0(1e300).bits, 254);
  EXPECT_EQ(Float8E8M0(-1.f).bits, 255);
  EXPECT_EQ(Float8E8M0(NAN).bits, 255);
  EXPECT_EQ(convertElement<Float8E8M0>(int64_t(3)).bits, 129);
}

TEST(Float8Test, CastsAsAsked) {
  Tensor x = make<float>({3}, {1e9f, -inf, 3});
  auto cast = [&](const Attributes &attributes) {
    std::vector<int> codes;
    for (auto element : run<Float8E5M2>("nn.cast", attributes, {x}, {3})) {
      codes.push_back(element.bits);
    }
    return codes;
  };
  EXPECT_THAT(cast({}), ElementsAre(0x7b, 0xfb, 0x42));
  EXPECT_THAT(cast({{"saturate", int64_t(1)}}), ElementsAre(0x7b, 0xfb, 0x42));
  EXPECT_THAT(cast({{"saturate", int64_t(0)}}), ElementsAre(0x7c, 0xfc, 0x42));
}

TEST(SmallIntegerTest, WrapsAndExtendsItsSign) {
  for (int i = -40; i < 40; ++i) {
    int expected = ((i + 8) % 16 + 16) % 16 - 8;
    EXPECT_EQ(load(convertElement<Int4>(i)), expected) << i;
    EXPECT_EQ(load(convertElement<Int4>(int8_t(i))), expected) << i;
    EXPECT_EQ(load(convertElement<UInt4>(i)), ((i % 16) + 16) % 16) << i;
    EXPECT_EQ(load(convertElement<Int4>(float(i))), expected) << i;
    EXPECT_EQ(convertElement<int64_t>(convertElement<Int4>(i)), expected);
    EXPECT_EQ(load(convertElement<Int2>(i)), ((i + 2) % 4 + 4) % 4 - 2) << i;
    EXPECT_EQ(load(convertElement<UInt2>(float(i))), (i % 4 + 4) % 4) << i;
  }
  EXPECT_EQ(load(convertElement<Int4>(-2.9)), -2);
  EXPECT_EQ(load(convertElement<Int4>(NAN)), 0);
  EXPECT_EQ(convertElement<Flag>(Int4(3)).byte, 1);
  EXPECT_EQ(load(convertElement<Float8E4M3FN>(Int4(-8))), -8);
}

TEST(SmallIntegerTest, AreSeveralInAByteOfOnnx) {
  std::byte packed[] = {std::byte(0x8f), std::byte(0x07)};
  auto texts = [&](DType type) {
    std::vector<int> values;
    for (std::byte byte : unpackElements(type, packed, 3)) {
      values.push_back(static_cast<int8_t>(byte));
    }
    return values;
  };
  EXPECT_THAT(texts(DType::I4), ElementsAre(-1, -8, 7));
  EXPECT_THAT(texts(DType::U4), ElementsAre(15, 8, 7));
  EXPECT_THAT(texts(DType::I2), ElementsAre(-1, -1, 0));
  EXPECT_THAT(texts(DType::U2), ElementsAre(3, 3, 0));
  EXPECT_THAT(texts(DType::F4E2M1), ElementsAre(15, 8, 7));
  EXPECT_EQ(onnxBytes(DType::I4, 3), 2);
  EXPECT_EQ(onnxBytes(DType::U2, 4), 1);
  EXPECT_EQ(onnxBytes(DType::U2, 5), 2);
  EXPECT_EQ(onnxBytes(DType::F32, 3), 12);
}

/// Also of bytes that say more than the element has bits.
TEST(StoredTest, TensorsHaveOneCodePerValue) {
  std::byte bytes[] = {std::byte(0x0f), std::byte(0xff), std::byte(0x78)};
  auto tensor = HostTensor::copyOf(DType::I4, {3}, bytes);
  ASSERT_TRUE(tensor);
  EXPECT_THAT(tensor->toInts(), ElementsAre(-1, -1, -8));
  EXPECT_EQ(tensor->bytes()[0], tensor->bytes()[1]);
  auto unsignedOnes = HostTensor::copyOf(DType::U4, {3}, bytes);
  ASSERT_TRUE(unsignedOnes);
  EXPECT_THAT(unsignedOnes->toInts(), ElementsAre(15, 15, 8));
  auto quarters = HostTensor::copyOf(DType::I2, {3}, bytes);
  ASSERT_TRUE(quarters);
  EXPECT_THAT(quarters->toInts(), ElementsAre(-1, -1, 0));
  auto halves = HostTensor::copyOf(DType::F4E2M1, {3}, bytes);
  ASSERT_TRUE(halves);
  EXPECT_EQ(halves->bytes()[0], halves->bytes()[1]);
  uint64_t prime = FieldElement::modulus + 2;
  auto residue =
      HostTensor::copyOf(DType::Field, {}, std::as_bytes(std::span(&prime, 1)));
  ASSERT_TRUE(residue);
  EXPECT_THAT(residue->toInts(), ElementsAre(2));
}

/// Nothing computes in them.
TEST(StoredTest, KernelsRefuseThem) {
  for (DType type : {DType::I2, DType::U2, DType::I4, DType::U4, DType::F4E2M1,
                     DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2,
                     DType::F8E5M2FNUZ, DType::F8E8M0}) {
    Tensor x(TensorInfo::whole(type, {2})), y = x;
    std::string name(stringify(type));
    EXPECT_EQ(tryRun("nn.add", {}, {x, x}, y),
              "nn.add: has no kernel for " + name);
    EXPECT_EQ(tryRun("nn.max", {}, {x, x}, y),
              "nn.max: has no kernel for " + name);
    EXPECT_EQ(tryRun("nn.exp", {}, {x}, y),
              "nn.exp: has no kernel for " + name);
    EXPECT_EQ(tryRun("nn.broadcast", {{"dims", Dims{0}}}, {x}, y), "");
  }
}
