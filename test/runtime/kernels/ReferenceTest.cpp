//===- ReferenceTest.cpp - What elementwise operators compute -------------===//
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

#include <cmath>

using namespace divisi::rt;
using namespace divisi::rt::test;
using testing::ElementsAre;
using testing::HasSubstr;

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

/// Whether inner products of T, of all lengths that vector code treats in its
/// own ways, are those of whole numbers.
template <typename T> static void expectInnerProducts() {
  uint32_t state = 1;
  auto draw = [&] {
    state = state * 1664525 + 1013904223;
    return T(state >> 16);
  };
  for (int64_t k = 1; k != 300; ++k) {
    std::vector<T> x, y;
    int64_t sum = 0;
    for (int64_t i = 0; i != k; ++i) {
      x.push_back(draw());
      y.push_back(draw());
      sum += int64_t(x.back()) * int64_t(y.back());
    }
    Tensor result(TensorInfo::whole(DType::I32, {1, 1}));
    ASSERT_EQ(tryRun("nn.matmul", {{"labels", std::string("mk,kn->mn")}},
                     {make({1, k}, x), make({k, 1}, y)}, result),
              "");
    ASSERT_EQ(result.values<int32_t>()[0], int32_t(sum)) << k;
  }
}

TEST(Reference, InnerProductsOfShortIntegers) {
  expectInnerProducts<int8_t>();
  expectInnerProducts<int16_t>();
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

TEST(Reference, PowOfFloatsAndIntegers) {
  EXPECT_THAT(binary<float>("nn.pow", {3, 3, 4, 2}, {2, 3, 0.5f, -1}),
              near({9, 27, 2, 0.5f}));
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
// Interface
//===----------------------------------------------------------------------===//

TEST(Reference, TableIsSortedAndComplete) {
  auto kernels = referenceBackend().kernels();
  size_t withFormats = 0;
  for (size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_LE(kernels[i - 1].op, kernels[i].op);
  }
  for (const Kernel &kernel : kernels) {
    withFormats += kernel.takesFormats;
  }
  // Each is there once more, for tensors with formats; packing is for these.
  EXPECT_EQ(kernels.size(), 2 * 80u + 1);
  EXPECT_EQ(withFormats, 80u + 1);
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

// Where it begins, in bytes; nothing if it is copied.
static std::optional<int64_t> viewOfSlice(TensorInfo from, TensorInfo to,
                                          const Dims &starts,
                                          const Dims &limits, Dims steps = {}) {
  steps.resize(starts.size(), 1);
  Attributes attributes{
      {"starts", starts}, {"limits", limits}, {"steps", steps}};
  CallSite site{"nn.slice", attributes, {&from, 1}, {&to, 1}};
  std::vector<SharedBytes> views =
      referenceBackend().find(site)->query(site).views;
  return views.empty() ? std::nullopt : std::optional(views.at(0).offset);
}

TEST(Reference, ContiguousSlicesAreViews) {
  auto whole = [](Dims dims) { return TensorInfo::whole(DType::F32, dims); };
  std::optional<int64_t> none;
  TensorInfo x = whole({4, 3, 16});
  EXPECT_EQ(viewOfSlice(x, whole({2, 3, 16}), {1, 0, 0}, {3, 3, 16}), 192);
  EXPECT_EQ(viewOfSlice(x, whole({1, 2, 16}), {2, 1, 0}, {3, 3, 16}), 448);
  EXPECT_EQ(viewOfSlice(x, whole({1, 1, 8}), {3, 2, 0}, {4, 3, 8}), 704);
  EXPECT_EQ(viewOfSlice(x, whole({1, 1, 1}), {3, 2, 0}, {4, 1, 1}, {9, -1, 2}),
            704);
  // Gaps, an order of its own, or a place that no kernel may take.
  EXPECT_EQ(viewOfSlice(x, whole({2, 2, 16}), {1, 0, 0}, {3, 2, 16}), none);
  EXPECT_EQ(viewOfSlice(x, whole({2, 3, 16}), {0, 0, 0}, {3, 3, 16}, {2, 1, 1}),
            none);
  EXPECT_EQ(viewOfSlice(x, whole({1, 1, 8}), {0, 0, 8}, {1, 1, 16}), none);
  EXPECT_EQ(viewOfSlice(x, whole({0, 3, 16}), {2, 0, 0}, {2, 3, 16}), none);
  // Of a rank's box: as large as others, or at the beginning of each.
  auto box = [](Dims global, Dims extents) {
    return TensorInfo{DType::F32, extents, Dims(extents.size(), 0), global};
  };
  EXPECT_EQ(viewOfSlice(box({4, 3, 32}, {4, 3, 16}),
                        box({1, 3, 32}, {1, 3, 16}), {0, 0, 0}, {1, 3, 32}),
            0);
  EXPECT_EQ(viewOfSlice(box({4, 3, 32}, {4, 3, 16}),
                        box({1, 3, 32}, {1, 3, 16}), {1, 0, 0}, {2, 3, 32}),
            none);
  EXPECT_EQ(viewOfSlice(box({2, 3, 16}, {1, 3, 16}),
                        box({2, 1, 16}, {1, 1, 16}), {0, 1, 0}, {2, 2, 16}),
            64);
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
