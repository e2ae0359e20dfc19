//===- ReferenceAttentionTest.cpp - Attention, gradients, quantization ----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention is compared with its formula in doubles, transposed convolution
// with convolution, of which it is the adjoint.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/kernels/ReferenceCalls.h"

#include <cmath>
#include <random>

using namespace divisi::rt;
using namespace divisi::rt::test;
using testing::ElementsAre;

static Attributes attention(int64_t left, int64_t right, int64_t offset,
                            double softcap = 0) {
  return {{"scale", 1.0},
          {"softcap", softcap},
          {"left", left},
          {"right", right},
          {"offset", offset}};
}

/// Three queries of one head, four keys with values 1, 10, 100 and 1000; all
/// products are 0, so that all keys weigh the same.
static F attendEvenly(const Attributes &attributes,
                      std::vector<Tensor> mask = {}) {
  std::vector<Tensor> operands = {
      make<float>({1, 1, 3, 1}, F(3)), make<float>({1, 1, 4, 1}, {1, 2, 3, 4}),
      make<float>({1, 1, 4, 1}, {1, 10, 100, 1000})};
  operands.insert(operands.end(), mask.begin(), mask.end());
  return run<float>("nn.attention", attributes, operands, {1, 1, 3, 1});
}

TEST(Reference, AttentionBoundsPositions) {
  EXPECT_THAT(attendEvenly(attention(-1, -1, 0)),
              near({277.75f, 277.75f, 277.75f}));
  EXPECT_THAT(attendEvenly(attention(-1, 0, 0)), near({1, 5.5f, 37}));
  EXPECT_THAT(attendEvenly(attention(-1, 0, 1)), near({5.5f, 37, 277.75f}));
  EXPECT_THAT(attendEvenly(attention(0, 0, 1)), near({10, 100, 1000}));
  EXPECT_THAT(attendEvenly(attention(1, 0, 0)), near({1, 5.5f, 55}));
  // The first query stands before all keys, and what it gets is 0.
  EXPECT_THAT(attendEvenly(attention(-1, 0, -1)), near({0, 1, 5.5f}));
  int64_t far = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(attendEvenly(attention(far, far, far)),
              near({277.75f, 370, 550}));
  EXPECT_THAT(attendEvenly(attention(far, far, 0)),
              near({277.75f, 277.75f, 277.75f}));
}

TEST(Reference, AttentionMasks) {
  Tensor bools = make<uint8_t>({1, 1, 1, 4}, B{1, 0, 1, 0});
  EXPECT_THAT(attendEvenly(attention(-1, -1, 0), {bools}),
              near({50.5f, 50.5f, 50.5f}));
  EXPECT_THAT(attendEvenly(attention(-1, 0, 0), {bools}), near({1, 1, 50.5f}));
  Tensor none = make<float>({1, 1, 1, 4}, F(4, -inf));
  EXPECT_THAT(attendEvenly(attention(-1, -1, 0), {none}), near({0, 0, 0}));
  // A difference of log(3) weighs three times as much.
  Tensor bias = make<float>({1, 1, 1, 4}, {-inf, std::log(3.0f), 0, -inf});
  EXPECT_THAT(attendEvenly(attention(-1, -1, 0), {bias}),
              near({32.5f, 32.5f, 32.5f}));
}

/// Numbers in [-1, 1].
template <typename T>
static Tensor randoms(const Dims &dims, std::mt19937 &random) {
  std::vector<T> values(numElements(dims));
  for (T &value : values) {
    value = std::is_integral_v<T>
                ? T(std::uniform_int_distribution<int>(-9, 9)(random))
                : T(std::uniform_real_distribution<double>(-1, 1)(random));
  }
  return make<T>(dims, values);
}

TEST(Reference, AttentionIsItsFormula) {
  std::mt19937 random(3);
  Tensor q = randoms<double>({2, 4, 3, 5}, random);
  Tensor k = randoms<double>({2, 2, 7, 5}, random);
  Tensor v = randoms<double>({2, 2, 7, 3}, random);
  auto got = run<double>("nn.attention", attention(2, 1, 2, 1.5), {q, k, v},
                         {2, 4, 3, 3});
  auto a = q.values<double>(), b = k.values<double>(), c = v.values<double>();
  for (int64_t head = 0; head < 8; ++head) {
    int64_t shared = head / 2; // Two heads of queries a head of keys.
    for (int64_t s = 0; s < 3; ++s) {
      double total = 0, sums[3] = {};
      for (int64_t t = std::max<int64_t>(0, s);
           t <= std::min<int64_t>(6, s + 3); ++t) {
        double product = 0;
        for (int64_t d = 0; d < 5; ++d) {
          product += a[(head * 3 + s) * 5 + d] * b[(shared * 7 + t) * 5 + d];
        }
        double weight = std::exp(1.5 * std::tanh(product / 1.5));
        total += weight;
        for (int64_t e = 0; e < 3; ++e) {
          sums[e] += weight * c[(shared * 7 + t) * 3 + e];
        }
      }
      for (int64_t e = 0; e < 3; ++e) {
        EXPECT_NEAR(got[(head * 3 + s) * 3 + e], sums[e] / total, 1e-12);
      }
    }
  }
}

TEST(Reference, RotaryTurnsPairs) {
  Tensor x = make<float>({1, 6}, {1, 2, 3, 4, 5, 6});
  Tensor cos = make<float>({1, 2}, {0, 1}), sin = make<float>({1, 2}, {1, 0});
  auto rotate = [&](int64_t interleaved) {
    return run<float>("nn.rotary", {{"interleaved", interleaved}},
                      {x, cos, sin}, {1, 6});
  };
  // A quarter turn of the first pair; the other stays, and so does the rest.
  EXPECT_THAT(rotate(1), ElementsAre(-2, 1, 3, 4, 5, 6));
  EXPECT_THAT(rotate(0), ElementsAre(-3, 2, 1, 4, 5, 6));
}

/// The sum of products of two tensors' elements.
static int64_t inner(const std::vector<int32_t> &a,
                     const std::vector<int32_t> &b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += int64_t(a[i]) * b[i];
  }
  return sum;
}

TEST(Reference, ConvDgradIsTheAdjointOfConv) {
  struct Shape {
    int64_t extent, taps, stride, dilation, low, high;
  };
  std::mt19937 random(5);
  for (Shape s : {Shape{9, 3, 1, 1, 0, 0}, Shape{9, 3, 2, 1, 1, 1},
                  Shape{10, 2, 3, 2, 0, 1}, Shape{8, 3, 2, 2, 3, 0},
                  Shape{7, 1, 4, 1, 0, 0}}) {
    int64_t out =
        (s.extent + s.low + s.high - (s.taps - 1) * s.dilation - 1) / s.stride +
        1;
    for (int64_t groups : {1, 2}) {
      Tensor x = randoms<int32_t>({2, 4, s.extent}, random);
      Tensor w = randoms<int32_t>({6, 4 / groups, s.taps}, random);
      Tensor dy = randoms<int32_t>({2, 6, out}, random);
      Attributes common = {{"strides", Dims{s.stride}},
                           {"dilations", Dims{s.dilation}},
                           {"pads_lo", Dims{s.low}},
                           {"groups", groups}};
      Attributes forward = common, backward = common;
      forward.set("pads_hi", Dims{s.high});
      backward.set("extents", Dims{s.extent});
      auto y = run<int32_t>("nn.conv", forward, {x, w}, {2, 6, out});
      auto dx =
          run<int32_t>("nn.conv_dgrad", backward, {dy, w}, {2, 4, s.extent});
      EXPECT_EQ(inner(y, dy.values<int32_t>()), inner(x.values<int32_t>(), dx));
    }
  }
}

TEST(Reference, QuantizeRoundsAndSaturates) {
  Tensor x = make<float>({2, 4}, {0.5f, 1.5f, -2.5f, 1e9f, 3, -1e9f, 7, nan32});
  Attributes byRow = {{"axis", int64_t(0)}, {"block", int64_t(1)}};
  Tensor scale = make<float>({2, 1}, {1, 2});
  EXPECT_THAT(run<int32_t>("nn.quantize", byRow, {x, scale}, {2, 4}),
              ElementsAre(0, 2, -2, 1000000000, 2, -500000000, 4, 0));
  Tensor zero = make<uint8_t>({2, 1}, {10, 128});
  zero.info.type = DType::U8;
  Tensor result(TensorInfo::whole(DType::U8, {2, 4}));
  EXPECT_EQ(tryRun("nn.quantize", byRow, {x, scale, zero}, result), "");
  EXPECT_THAT(result.values<uint8_t>(),
              ElementsAre(10, 12, 8, 255, 130, 0, 132, 0));
}

TEST(Reference, DequantizeByBlocks) {
  Tensor x = make<int32_t>({5}, {1, 2, 3, 4, 5});
  Tensor zero = make<int32_t>({3}, {0, 1, 5});
  Tensor scale = make<float>({3}, {1, 10, 100});
  EXPECT_THAT(run<float>("nn.dequantize",
                         {{"axis", int64_t(0)}, {"block", int64_t(2)}},
                         {x, scale, zero}, {5}),
              ElementsAre(1, 2, 20, 30, 0));
}
