//===- ReferenceStructureTest.cpp - What other operators compute ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small vectors whose results are plain to see, or are numpy's and ONNX
// Runtime's.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/kernels/ReferenceCalls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace divisi::rt;
using namespace divisi::rt::test;
using testing::ElementsAre;

//===----------------------------------------------------------------------===//
// Contraction and windows
//===----------------------------------------------------------------------===//

TEST(Reference, Matmul) {
  Tensor a = make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor b = make<float>({3, 2}, {7, 8, 9, 10, 11, 12});
  auto matmul = [&](std::string labels, Dims dims) {
    return run<float>("nn.matmul", {{"labels", labels}}, {a, b}, dims);
  };
  EXPECT_THAT(matmul("mk,kn->mn", {2, 2}), ElementsAre(58, 64, 139, 154));
  EXPECT_THAT(matmul("mk,kn->nm", {2, 2}), ElementsAre(58, 139, 64, 154));
  EXPECT_THAT(run<int32_t>("nn.matmul", {{"labels", std::string("bk,bk->b")}},
                           {make<int32_t>({2, 2}, {1, 2, 3, 4}),
                            make<int32_t>({2, 2}, {5, 6, 7, 8})},
                           {2}),
              ElementsAre(17, 53));
}

TEST(Reference, MatmulOverNothingIsZero) {
  EXPECT_THAT(run<float>("nn.matmul", {{"labels", std::string("mk,kn->mn")}},
                         {make<float>({1, 0}, {}), make<float>({0, 2}, {})},
                         {1, 2}),
              ElementsAre(0, 0));
}

static Attributes window(Dims strides, Dims dilations, Dims low, Dims high) {
  return {{"strides", strides},
          {"dilations", dilations},
          {"pads_lo", low},
          {"pads_hi", high}};
}

TEST(Reference, ConvPadsStridesDilates) {
  Tensor x = make<float>({1, 1, 5}, {1, 2, 3, 4, 5});
  Tensor w = make<float>({1, 1, 2}, {1, 10});
  Attributes attributes = window({2}, {2}, {1}, {1});
  attributes.set("groups", int64_t(1));
  // Taps at 2·o − 1 and 2·o + 1.
  EXPECT_THAT(run<float>("nn.conv", attributes, {x, w}, {1, 1, 3}),
              ElementsAre(20, 42, 4));
}

TEST(Reference, ConvGroups) {
  Tensor x = make<float>({1, 2, 2}, {1, 2, 3, 4});
  Tensor w = make<float>({4, 1, 1}, {1, 2, 3, 4});
  Attributes attributes = window({1}, {1}, {0}, {0});
  attributes.set("groups", int64_t(2));
  EXPECT_THAT(run<float>("nn.conv", attributes, {x, w}, {1, 4, 2}),
              ElementsAre(1, 2, 2, 4, 9, 12, 12, 16));
}

TEST(Reference, Pool) {
  Tensor x = make<float>({2, 3}, {1, 2, 3, -4, -5, -6});
  Attributes attributes = window({1, 2}, {1, 1}, {0, 1}, {0, 1});
  attributes.set("kernel", Dims{1, 2});
  EXPECT_THAT(run<float>("nn.pool_max", attributes, {x}, {2, 2}),
              ElementsAre(1, 3, -4, -5));
  EXPECT_THAT(run<float>("nn.pool_sum", attributes, {x}, {2, 2}),
              ElementsAre(1, 5, -4, -11));
}

//===----------------------------------------------------------------------===//
// Reductions and lines
//===----------------------------------------------------------------------===//

TEST(Reference, Reduce) {
  Tensor x = make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  auto reduce = [&](std::string kind, Dims axes, Dims dims) {
    return run<float>("nn.reduce", {{"kind", kind}, {"axes", axes}}, {x}, dims);
  };
  EXPECT_THAT(reduce("sum", {1}, {2}), ElementsAre(6, 15));
  EXPECT_THAT(reduce("sum", {0}, {3}), ElementsAre(5, 7, 9));
  EXPECT_THAT(reduce("prod", {0, 1}, {}), ElementsAre(720));
  EXPECT_THAT(reduce("max", {1}, {2}), ElementsAre(3, 6));
  EXPECT_THAT(reduce("min", {0}, {3}), ElementsAre(1, 2, 3));
  Tensor flags = make<uint8_t>({2, 2}, {0, 1, 1, 1});
  auto logic = [&](std::string kind) {
    return run<uint8_t>("nn.reduce", {{"kind", kind}, {"axes", Dims{1}}},
                        {flags}, {2});
  };
  EXPECT_THAT(logic("and"), ElementsAre(0, 1));
  EXPECT_THAT(logic("or"), ElementsAre(1, 1));
}

TEST(Reference, ReduceNothingIsNeutral) {
  Tensor x = make<float>({1, 0}, {});
  auto reduce = [&](std::string kind) {
    return run<float>("nn.reduce", {{"kind", kind}, {"axes", Dims{1}}}, {x},
                      {1})[0];
  };
  EXPECT_EQ(reduce("sum"), 0);
  EXPECT_EQ(reduce("prod"), 1);
  EXPECT_EQ(reduce("max"), -inf);
  EXPECT_EQ(reduce("min"), inf);
}

TEST(Reference, ReduceMaxKeepsNaN) {
  F values(20, 1);
  values[3] = nan32;
  Tensor x = make<float>({20}, values);
  EXPECT_TRUE(std::isnan(
      run<float>("nn.reduce", {{"kind", std::string("max")}, {"axes", Dims{0}}},
                 {x}, {})[0]));
}

TEST(Reference, Softmax) {
  Tensor x = make<float>({1, 3}, {1, 2, 3});
  auto softmax = [&](int64_t axis, int64_t log) {
    return run<float>("nn.softmax", {{"axis", axis}, {"log", log}}, {x},
                      {1, 3});
  };
  EXPECT_THAT(softmax(1, 0), near({0.09003057f, 0.24472848f, 0.66524094f}));
  EXPECT_THAT(softmax(1, 1), near({-2.407606f, -1.407606f, -0.407606f}));
  EXPECT_THAT(softmax(0, 0), ElementsAre(1, 1, 1));
}

TEST(Reference, Normalize) {
  Tensor x = make<float>({2, 2}, {1, 3, 10, 10});
  auto normalize = [&](Dims axes, int64_t center) {
    return run<float>("nn.normalize",
                      {{"axes", axes}, {"center", center}, {"epsilon", 1e-5}},
                      {x}, {2, 2});
  };
  EXPECT_THAT(normalize({1}, 1), near({-0.999995f, 0.999995f, 0, 0}));
  EXPECT_THAT(normalize({0}, 1), near({-1, -1, 1, 1}));
  EXPECT_THAT(normalize({1}, 0), near({0.447213f, 1.341639f, 1, 1}));
}

//===----------------------------------------------------------------------===//
// Movement and indices
//===----------------------------------------------------------------------===//

TEST(Reference, Movement) {
  Tensor x = make<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run<int32_t>("nn.reshape", {}, {x}, {3, 2}),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      run<int32_t>("nn.transpose", {{"permutation", Dims{1, 0}}}, {x}, {3, 2}),
      ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(run<int32_t>("nn.broadcast", {{"dims", Dims{1}}},
                           {make<int32_t>({2}, {1, 2})}, {2, 2}),
              ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(run<int32_t>("nn.slice",
                           {{"starts", Dims{0, 2}},
                            {"limits", Dims{2, -1}},
                            {"steps", Dims{1, -2}}},
                           {x}, {2, 2}),
              ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(
      run<int32_t>("nn.pad",
                   {{"lo", Dims{0, 1}}, {"hi", Dims{1, -2}}, {"value", 9.0}},
                   {x}, {3, 2}),
      ElementsAre(9, 1, 9, 4, 9, 9));
  EXPECT_THAT(run<int32_t>("nn.concat", {{"axis", int64_t(1)}},
                           {x, make<int32_t>({2, 1}, {7, 8})}, {2, 4}),
              ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
}

TEST(Reference, Gather) {
  Tensor x = make<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Attributes attributes{{"axis", int64_t(0)}, {"batch_dims", int64_t(0)}};
  EXPECT_THAT(run<float>("nn.gather", attributes,
                         {x, make<int64_t>({3}, {2, -1, -3})}, {3, 2}),
              ElementsAre(5, 6, 5, 6, 1, 2));
  Attributes batched{{"axis", int64_t(1)}, {"batch_dims", int64_t(1)}};
  EXPECT_THAT(run<float>("nn.gather", batched,
                         {x, make<int32_t>({3, 1}, {1, 0, 1})}, {3, 1}),
              ElementsAre(2, 3, 6));
}

TEST(Reference, TellsBadIndices) {
  Tensor x = make<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor result(TensorInfo::whole(DType::F32, {2, 2, 2}));
  Attributes attributes{{"axis", int64_t(0)}, {"batch_dims", int64_t(0)}};
  EXPECT_EQ(tryRun("nn.gather", attributes,
                   {x, make<int64_t>({2, 2}, {2, -3, 1, 3})}, result),
            "index 3 at [1, 1] is outside of an extent of 3; expected -3 to 2");
  EXPECT_EQ(tryRun("nn.gather", attributes,
                   {x, make<int64_t>({2, 2}, {2, -3, -4, 3})}, result),
            "index -4 at [1, 0] is outside of an extent of 3; expected -3 to "
            "2");
  EXPECT_EQ(tryRun("nn.gather", attributes,
                   {Tensor(TensorInfo::whole(DType::F32, {0, 2})),
                    make<int64_t>({2, 2}, {0, 0, 0, 0})},
                   result),
            "index 0 at [0, 0] is outside of an extent of 0");
}

TEST(Reference, TakeAlong) {
  EXPECT_THAT(run<float>("nn.take_along", {{"axis", int64_t(1)}},
                         {make<float>({2, 2}, {1, 2, 3, 4}),
                          make<int64_t>({2, 2}, {0, 0, 1, -2})},
                         {2, 2}),
              ElementsAre(1, 1, 4, 3));
}

// The first words are those that Random123 publishes for zeros.
TEST(Reference, Random) {
  auto word = [](int64_t value) { return make<int64_t>({}, {value}); };
  Attributes stream{{"stream", int64_t(0)}};
  EXPECT_THAT(run<float>("nn.random", stream, {word(0), word(0)}, {4}),
              ElementsAre(0x6627e8 / 0x1p24f, 0xe169c5 / 0x1p24f,
                          0xbc57ac / 0x1p24f, 0x9b00db / 0x1p24f));
  const std::vector<std::array<int64_t, 3>> others = {
      {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {int64_t(1) << 40, 0, 0}};
  for (auto [key, count, number] : others) {
    Attributes other{{"stream", number}};
    auto row =
        run<float>("nn.random", other, {word(key), word(count)}, {50, 20});
    EXPECT_NE(row.front(), 0x6627e8 / 0x1p24f);
    double mean = std::accumulate(row.begin(), row.end(), 0.0) / 1000;
    EXPECT_NEAR(mean, 0.5, 0.03);
    EXPECT_LT(*std::max_element(row.begin(), row.end()), 1);
    EXPECT_GE(*std::min_element(row.begin(), row.end()), 0);
  }
}

TEST(Reference, IotaAndResample) {
  EXPECT_THAT(run<int64_t>("nn.iota", {{"axis", int64_t(0)}}, {}, {2, 2}),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(run<float>("nn.resample",
                         {{"axis", int64_t(0)},
                          {"taps", int64_t(2)},
                          {"indices", Dims{0, 0, 0, 1, 1, 1}},
                          {"weights", std::vector<double>{1, 0, .5, .5, 0, 1}}},
                         {make<float>({2}, {1, 3})}, {3}),
              ElementsAre(1, 2, 3));
}
