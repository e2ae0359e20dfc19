//===- ReferenceTest.cpp - What every operator computes, by hand ----------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small vectors whose results are plain to see, or are numpy's and ONNX
// Runtime's.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/Tensors.h"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>

using namespace divisi::rt;
using namespace divisi::rt::test;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

namespace {
using F = std::vector<float>;
using I = std::vector<int32_t>;
using L = std::vector<int64_t>;
using B = std::vector<uint8_t>;
} // namespace

static constexpr float inf = std::numeric_limits<float>::infinity();
static constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
static constexpr int32_t minInt = std::numeric_limits<int32_t>::min();
static constexpr int32_t maxInt = std::numeric_limits<int32_t>::max();

/// The message of a call that fails, or nothing.
static std::string tryRun(std::string_view op, const Attributes &attributes,
                          const std::vector<Tensor> &operands, Tensor &result) {
  std::vector<TensorInfo> infos;
  std::vector<const void *> pointers;
  for (const Tensor &operand : operands) {
    infos.push_back(operand.info);
    pointers.push_back(operand.data.data());
  }
  TensorInfo resultInfo = result.info;
  void *resultData = result.data.data();
  std::string error;
  evaluate(op, attributes, infos, pointers, {&resultInfo, 1}, {&resultData, 1},
           error);
  return error;
}

template <typename T>
static std::vector<T> run(std::string_view op, const Attributes &attributes,
                          const std::vector<Tensor> &operands, Dims dims) {
  Tensor result(TensorInfo::whole(dtypeOf<T>, std::move(dims)));
  EXPECT_EQ(tryRun(op, attributes, operands, result), "");
  return result.values<T>();
}

template <typename T>
static std::vector<T> unary(std::string_view op, const std::vector<T> &x,
                            const Attributes &attributes = {}) {
  int64_t n = int64_t(x.size());
  return run<T>(op, attributes, {make({n}, x)}, {n});
}

template <typename T>
static std::vector<T> binary(std::string_view op, const std::vector<T> &x,
                             const std::vector<T> &y,
                             const Attributes &attributes = {}) {
  int64_t n = int64_t(x.size());
  return run<T>(op, attributes, {make({n}, x), make({n}, y)}, {n});
}

static auto near(const F &values) {
  return Pointwise(FloatNear(1e-5f), values);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST(Reference, UnaryFloats) {
  EXPECT_THAT(unary<float>("nn.neg", {1, -2}), ElementsAre(-1, 2));
  EXPECT_THAT(unary<float>("nn.abs", {1, -2}), ElementsAre(1, 2));
  EXPECT_THAT(unary<float>("nn.sign", {3, -2, 0}), ElementsAre(1, -1, 0));
  EXPECT_THAT(unary<float>("nn.relu", {3, -2, 0}), ElementsAre(3, 0, 0));
  EXPECT_THAT(unary<float>("nn.sqrt", {9, 2}), near({3, 1.4142135f}));
  EXPECT_THAT(unary<float>("nn.rsqrt", {4, 0.25f}), near({0.5f, 2}));
  EXPECT_THAT(unary<float>("nn.exp", {0, 1}), near({1, 2.7182817f}));
  EXPECT_THAT(unary<float>("nn.log", {1, 10}), near({0, 2.3025851f}));
  EXPECT_THAT(unary<float>("nn.erf", {0, 0.5f, -1}),
              near({0, 0.5204999f, -0.8427008f}));
  EXPECT_THAT(unary<float>("nn.sin", {1}), near({0.841471f}));
  EXPECT_THAT(unary<float>("nn.cos", {1}), near({0.5403023f}));
  EXPECT_THAT(unary<float>("nn.tanh", {0.5f}), near({0.4621172f}));
  EXPECT_THAT(unary<float>("nn.sigmoid", {0, 2, -200, 200}),
              near({0.5f, 0.880797f, 0, 1}));
  EXPECT_THAT(unary<float>("nn.floor", {1.5f, -1.5f}), ElementsAre(1, -2));
  EXPECT_THAT(unary<float>("nn.ceil", {1.5f, -1.5f}), ElementsAre(2, -1));
  EXPECT_THAT(unary<float>("nn.round", {0.5f, 1.5f, 2.5f, -0.5f}),
              ElementsAre(0, 2, 2, 0));
  EXPECT_THAT(
      unary<float>("nn.gelu", {1, -1}, {{"approximate", std::string("none")}}),
      near({0.8413447f, -0.1586553f}));
  EXPECT_THAT(
      unary<float>("nn.gelu", {1, -1}, {{"approximate", std::string("tanh")}}),
      near({0.841192f, -0.158808f}));
}

TEST(Reference, UnaryKeepsNaN) {
  EXPECT_TRUE(std::isnan(unary<float>("nn.relu", {nan32})[0]));
  EXPECT_TRUE(std::isnan(unary<float>("nn.sign", {nan32})[0]));
  EXPECT_TRUE(std::isnan(unary<float>("nn.sigmoid", {nan32})[0]));
}

TEST(Reference, UnaryIntegersWrap) {
  EXPECT_THAT(unary<int32_t>("nn.neg", {1, minInt}), ElementsAre(-1, minInt));
  EXPECT_THAT(unary<int32_t>("nn.abs", {-5, minInt}), ElementsAre(5, minInt));
}

TEST(Reference, Predicates) {
  Tensor x = make<float>({4}, {1, nan32, inf, -inf});
  EXPECT_THAT(run<uint8_t>("nn.is_nan", {}, {x}, {4}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(run<uint8_t>("nn.is_inf", {}, {x}, {4}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(unary<uint8_t>("nn.not", {0, 1}), ElementsAre(1, 0));
}

TEST(Reference, CastSaturatesAndWraps) {
  Tensor x = make<float>({5}, {1.9f, -1.9f, nan32, 1e20f, -inf});
  EXPECT_THAT(run<int32_t>("nn.cast", {}, {x}, {5}),
              ElementsAre(1, -1, 0, maxInt, minInt));
  EXPECT_THAT(
      run<uint8_t>("nn.cast", {}, {make<float>({3}, {0, 0.5f, nan32})}, {3}),
      ElementsAre(0, 1, 1));
  EXPECT_THAT(run<int32_t>("nn.cast", {},
                           {make<int64_t>({2}, {(1LL << 32) + 7, -1})}, {2}),
              ElementsAre(7, -1));
  EXPECT_THAT(run<float>("nn.cast", {}, {make<uint8_t>({2}, {0, 1})}, {2}),
              ElementsAre(0, 1));
}

TEST(Reference, Arithmetic) {
  EXPECT_THAT(binary<float>("nn.add", {1, 2}, {10, 20}), ElementsAre(11, 22));
  EXPECT_THAT(binary<float>("nn.sub", {1, 2}, {10, 20}), ElementsAre(-9, -18));
  EXPECT_THAT(binary<float>("nn.mul", {3, 2}, {10, 20}), ElementsAre(30, 40));
  EXPECT_THAT(binary<float>("nn.div", {3, 2}, {2, 4}), ElementsAre(1.5f, 0.5f));
  EXPECT_THAT(binary<int32_t>("nn.add", {maxInt}, {1}), ElementsAre(minInt));
  EXPECT_THAT(binary<int32_t>("nn.div", {7, -7, 7, minInt}, {2, 2, 0, -1}),
              ElementsAre(3, -3, 0, minInt));
  EXPECT_THAT(binary<float>("nn.max", {1, 5}, {3, 2}), ElementsAre(3, 5));
  EXPECT_THAT(binary<float>("nn.min", {1, 5}, {3, 2}), ElementsAre(1, 2));
}

TEST(Reference, MaxAndMinPropagateNaN) {
  for (const char *op : {"nn.max", "nn.min"}) {
    EXPECT_TRUE(std::isnan(binary<float>(op, {nan32}, {1})[0])) << op;
    EXPECT_TRUE(std::isnan(binary<float>(op, {1}, {nan32})[0])) << op;
  }
}

TEST(Reference, ModSigns) {
  Attributes floor{{"fmod", int64_t(0)}}, fmod{{"fmod", int64_t(1)}};
  I a{7, -7, 7, -7, 5, minInt}, b{3, 3, -3, -3, 0, -1};
  EXPECT_THAT(binary<int32_t>("nn.mod", a, b, floor),
              ElementsAre(1, 2, -2, -1, 0, 0));
  EXPECT_THAT(binary<int32_t>("nn.mod", a, b, fmod),
              ElementsAre(1, -1, 1, -1, 0, 0));
  EXPECT_THAT(binary<float>("nn.mod", {-4.5f}, {2}, fmod), ElementsAre(-0.5f));
}

TEST(Reference, PowKeepsTheBaseType) {
  EXPECT_THAT(binary<float>("nn.pow", {3, 3, 4, 2}, {2, 3, 0.5f, -1}),
              near({9, 27, 2, 0.5f}));
  EXPECT_THAT(run<int32_t>("nn.pow", {},
                           {make<int32_t>({1}, {3}), make<float>({1}, {2.9f})},
                           {1}),
              ElementsAre(24));
  EXPECT_THAT(binary<int64_t>("nn.pow", {3, -1, 2, 0}, {4, -3, -1, 0}),
              ElementsAre(81, -1, 0, 1));
}

TEST(Reference, Logic) {
  B a{0, 0, 1, 1}, b{0, 1, 0, 1};
  EXPECT_THAT(binary<uint8_t>("nn.and", a, b), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(binary<uint8_t>("nn.or", a, b), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(binary<uint8_t>("nn.xor", a, b), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(binary<int32_t>("nn.xor", {6}, {3}), ElementsAre(5));
}

TEST(Reference, Compare) {
  Tensor a = make<float>({4}, {1, 2, 3, nan32});
  Tensor b = make<float>({4}, {2, 2, 2, nan32});
  auto compare = [&](std::string predicate) {
    return run<uint8_t>("nn.compare", {{"predicate", predicate}}, {a, b}, {4});
  };
  EXPECT_THAT(compare("eq"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(compare("ne"), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(compare("lt"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(compare("le"), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(compare("gt"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(compare("ge"), ElementsAre(0, 1, 1, 0));
}

TEST(Reference, BroadcastAlignsRight) {
  Tensor a = make<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  Tensor b = make<float>({2, 1}, {10, 20});
  EXPECT_THAT(run<float>("nn.add", {}, {a, b}, {2, 2, 3}),
              ElementsAre(11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26));
}

TEST(Reference, Select) {
  EXPECT_THAT(run<float>("nn.select", {},
                         {make<uint8_t>({2, 1}, {1, 0}),
                          make<float>({2}, {1, 2}), make<float>({}, {9})},
                         {2, 2}),
              ElementsAre(1, 2, 9, 9));
}

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
  // -1 is the last row; 7 is none.
  EXPECT_THAT(run<float>("nn.gather", attributes,
                         {x, make<int64_t>({3}, {2, -1, 7})}, {3, 2}),
              ElementsAre(5, 6, 5, 6, 0, 0));
  Attributes batched{{"axis", int64_t(1)}, {"batch_dims", int64_t(1)}};
  EXPECT_THAT(run<float>("nn.gather", batched,
                         {x, make<int32_t>({3, 1}, {1, 0, 1})}, {3, 1}),
              ElementsAre(2, 3, 6));
}

TEST(Reference, TakeAlong) {
  EXPECT_THAT(run<float>("nn.take_along", {{"axis", int64_t(1)}},
                         {make<float>({2, 2}, {1, 2, 3, 4}),
                          make<int64_t>({2, 2}, {0, 0, 1, -2})},
                         {2, 2}),
              ElementsAre(1, 1, 4, 3));
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

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

TEST(Reference, TableIsSortedAndComplete) {
  auto kernels = referenceBackend().kernels();
  EXPECT_EQ(kernels.size(), 51u);
  for (size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_LT(kernels[i - 1].op, kernels[i].op);
  }
}

TEST(Reference, ReshapeAndTrivialTransposeAreViews) {
  auto isView = [](std::string_view op, const Attributes &attributes, Dims from,
                   Dims to) {
    std::vector<TensorInfo> infos{TensorInfo::whole(DType::F32, from),
                                  TensorInfo::whole(DType::F32, to)};
    CallSite site{op, attributes, {&infos[0], 1}, {&infos[1], 1}};
    return !referenceBackend().find(site)->query(site).views.empty();
  };
  EXPECT_TRUE(isView("nn.reshape", {}, {2, 6}, {3, 4}));
  EXPECT_TRUE(isView("nn.transpose", {{"permutation", Dims{1, 0, 2}}},
                     {1, 4, 5}, {4, 1, 5}));
  EXPECT_FALSE(isView("nn.transpose", {{"permutation", Dims{1, 0, 2}}},
                      {2, 4, 5}, {4, 2, 5}));
}

TEST(Reference, MessagesNameTheOperator) {
  Tensor x = make<float>({2}, {1, 2}), y = make<float>({3}, {1, 2, 3});
  Tensor result(TensorInfo::whole(DType::F32, {2}));
  EXPECT_EQ(tryRun("nn.add", {}, {x}, result),
            "nn.add: got 1 operand, expected 2");
  EXPECT_THAT(tryRun("nn.add", {}, {x, y}, result),
              HasSubstr("does not broadcast"));
  EXPECT_THAT(tryRun("nn.softmax", {}, {x}, result),
              HasSubstr("needs the integer attribute 'axis'"));
  EXPECT_THAT(
      tryRun("nn.matmul", {{"labels", std::string("k,k->")}}, {x, y}, result),
      HasSubstr("nn.matmul: result 0 has rank 1, expected 0"));
  EXPECT_THAT(
      tryRun("nn.matmul", {{"labels", std::string("q")}}, {x, y}, result),
      HasSubstr("expected something like"));
  EXPECT_THAT(tryRun("nn.frob", {}, {x}, result), HasSubstr("nn.frob"));
  x.info.extents = {5};
  EXPECT_THAT(tryRun("nn.neg", {}, {x}, result),
              HasSubstr("its box is not within the tensor"));
}
