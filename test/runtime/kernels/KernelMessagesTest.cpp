//===- KernelMessagesTest.cpp - Calls that the reference kernels refuse ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Kernel.h"

#include <gtest/gtest.h>

using namespace divisi::rt;

static TensorInfo f32(Dims dims) { return TensorInfo::whole(DType::F32, dims); }
static TensorInfo i64(Dims dims) { return TensorInfo::whole(DType::I64, dims); }

/// What is said of a call that is refused; "none" if it is not.
static std::string refusal(std::string_view op, const Attributes &attributes,
                           const std::vector<TensorInfo> &operands,
                           const std::vector<TensorInfo> &results) {
  CallSite site{op, attributes, operands, results};
  const Kernel *kernel = referenceBackend().find(site);
  std::string error;
  EXPECT_TRUE(kernel) << op;
  return kernel && kernel->prepare(site, error) ? "none" : error;
}

TEST(KernelMessages, OfNumbersAndBoxes) {
  TensorInfo x = f32({4});
  EXPECT_EQ(refusal("nn.neg", {}, {x, x}, {x}),
            "nn.neg: got 2 operands, expected 1");
  EXPECT_EQ(refusal("nn.neg", {}, {x}, {}),
            "nn.neg: got 0 results, expected 1");
  TensorInfo deep = f32(Dims(17, 1));
  EXPECT_EQ(refusal("nn.neg", {}, {deep}, {x}),
            "nn.neg: operand 0: its rank is above 16");
  TensorInfo ragged = x;
  ragged.offset = {0, 0};
  EXPECT_EQ(
      refusal("nn.neg", {}, {x}, {ragged}),
      "nn.neg: result 0: extents, offset and global shape differ in rank");
  TensorInfo outside = x;
  outside.offset = {1};
  EXPECT_EQ(refusal("nn.neg", {}, {outside}, {x}),
            "nn.neg: operand 0: its box is not within the tensor");
  TensorInfo huge = f32({int64_t(1) << 31, int64_t(1) << 31});
  huge.extents = {1, 1};
  EXPECT_EQ(refusal("nn.neg", {}, {huge}, {x}),
            "nn.neg: operand 0: it has too many elements");
  TensorInfo half = x;
  half.extents = {2};
  EXPECT_EQ(refusal("nn.neg", {}, {half}, {x}),
            "nn.neg: operand 0 holds indices 0 to 2 of dimension 0, but the "
            "result needs 0 to 4");
}

TEST(KernelMessages, OfInsertedSlices) {
  TensorInfo x = f32({4, 2}), offset = i64({});
  auto insert = [&](const TensorInfo &slice) {
    return refusal("nn.insert", {{"axis", int64_t(0)}}, {x, slice, offset},
                   {x});
  };
  EXPECT_EQ(insert(f32({4, 2})), "none");
  EXPECT_EQ(insert(f32({5, 2})),
            "nn.insert: the slice is longer than the tensor");
}

TEST(KernelMessages, OfTypesAndRanks) {
  TensorInfo x = f32({4}), n = i64({4});
  EXPECT_EQ(refusal("nn.add", {}, {x, n}, {x}),
            "nn.add: operand 1 is i64, expected f32");
  EXPECT_EQ(refusal("nn.neg", {}, {x}, {n}),
            "nn.neg: result 0 is i64, expected f32");
  EXPECT_EQ(refusal("nn.exp", {}, {n}, {n}), "nn.exp: has no kernel for i64");
  EXPECT_EQ(refusal("nn.softmax", {{"axis", int64_t(0)}, {"log", int64_t(0)}},
                    {x}, {f32({4, 1})}),
            "nn.softmax: result 0 has rank 2, expected 1");
  EXPECT_EQ(refusal("nn.softmax", {{"axis", int64_t(0)}, {"log", int64_t(0)}},
                    {x}, {f32({5})}),
            "nn.softmax: result dimension 0 has extent 5, expected 4");
  TensorInfo part = x;
  part.extents = {2};
  EXPECT_EQ(refusal("nn.softmax", {{"axis", int64_t(0)}, {"log", int64_t(0)}},
                    {x}, {part}),
            "nn.softmax: dimension 0 of the result is split, expected all of "
            "it");
  EXPECT_EQ(refusal("nn.add", {}, {f32({1, 1, 4}), x}, {x}),
            "nn.add: operand 0 has a higher rank than the result");
  EXPECT_EQ(refusal("nn.add", {}, {f32({3}), x}, {x}),
            "nn.add: operand 0 has shape [3], which does not broadcast to [4]");
  EXPECT_EQ(refusal("nn.reshape", {}, {x}, {f32({5})}),
            "nn.reshape: cannot reshape [4] to [5]");
}

TEST(KernelMessages, OfAttributes) {
  TensorInfo x = f32({4, 3}), y = f32({3, 4});
  EXPECT_EQ(refusal("nn.iota", {}, {}, {x}),
            "nn.iota: needs the integer attribute 'axis'");
  EXPECT_EQ(refusal("nn.iota", {{"axis", int64_t(2)}}, {}, {x}),
            "nn.iota: attribute 'axis' is 2, expected 0 to 1");
  EXPECT_EQ(refusal("nn.transpose", {}, {x}, {y}),
            "nn.transpose: needs the attribute 'permutation', a list of "
            "integers");
  EXPECT_EQ(refusal("nn.transpose", {{"permutation", Dims{0}}}, {x}, {y}),
            "nn.transpose: attribute 'permutation' has length 1, expected 2");
  EXPECT_EQ(refusal("nn.transpose", {{"permutation", Dims{0, 2}}}, {x}, {y}),
            "nn.transpose: attribute 'permutation' holds 2, expected 0 to 1");
  EXPECT_EQ(refusal("nn.transpose", {{"permutation", Dims{0, 0}}}, {x}, {y}),
            "nn.transpose: attribute 'permutation' is [0, 0], expected every "
            "dimension once");
  EXPECT_EQ(refusal("nn.reduce", {{"axes", Dims{1, 0}}, {"kind", "sum"}}, {x},
                    {f32({})}),
            "nn.reduce: attribute 'axes' is [1, 0], expected ascending "
            "dimensions");
  EXPECT_EQ(refusal("nn.normalize", {{"axes", Dims{1}}, {"center", int64_t(1)}},
                    {x}, {x}),
            "nn.normalize: needs the float attribute 'epsilon'");
  EXPECT_EQ(refusal("nn.gelu", {{"approximate", "odd"}}, {x}, {x}),
            "nn.gelu: attribute 'approximate' is 'odd', expected one of none, "
            "tanh");
  Attributes still = {
      {"starts", Dims{0, 0}}, {"limits", Dims{4, 3}}, {"steps", Dims{1, 0}}};
  EXPECT_EQ(refusal("nn.slice", still, {x}, {x}),
            "nn.slice: attribute 'steps' holds 0");
  Attributes unweighted = {
      {"axis", int64_t(0)}, {"taps", int64_t(1)}, {"indices", Dims{0, 1}}};
  EXPECT_EQ(refusal("nn.resample", unweighted, {f32({2})}, {f32({2})}),
            "nn.resample: needs the attribute 'weights', a list of 2 floats");
}

TEST(KernelMessages, OfAttention) {
  TensorInfo q = f32({2, 4, 5, 3}), k = f32({2, 2, 6, 3});
  Attributes attributes = {{"scale", 1.0},
                           {"softcap", 0.0},
                           {"left", int64_t(-1)},
                           {"right", int64_t(-1)},
                           {"offset", int64_t(0)}};
  EXPECT_EQ(refusal("nn.attention", attributes, {q, k, f32({2, 2, 5, 3})}, {q}),
            "nn.attention: queries [2, 4, 5, 3], keys [2, 2, 6, 3] and values "
            "[2, 2, 5, 3] do not fit together");
  EXPECT_EQ(
      refusal("nn.attention", attributes, {q, k, k, f32({1, 1, 5, 5})}, {q}),
      "nn.attention: a mask of shape [1, 1, 5, 5] does not broadcast to "
      "[2, 4, 5, 6]");
  for (const char *labels :
       {"bhsd", "bhsd,bhtd,bhte->bhes", "bhsd,bhtd,bhte->bhse,",
        "bhsd;bhtd,bhte->bhse", "bhsd,bhsd,bhte->bhse"}) {
    attributes.set("labels", std::string(labels));
    EXPECT_EQ(refusal("nn.attention", attributes, {q, k, k}, {q}),
              "nn.attention: attribute 'labels' is '" + std::string(labels) +
                  "', expected bhsd,bhtd,bhte->bhse, or each group in another "
                  "order that leaves its last letter");
  }
  attributes.set("labels", std::string());
  TensorInfo rows = f32({2, 4, 5}), part = k;
  auto gradient = [&](const TensorInfo &dy, const TensorInfo &v,
                      const TensorInfo &result) {
    return refusal("nn.attention_gradient", attributes,
                   {q, k, v, dy, rows, rows}, {result});
  };
  EXPECT_EQ(gradient(q, k, q), "nn.attention_gradient: attribute 'of' is '', "
                               "expected one of q, k, v");
  attributes.set("of", std::string("q"));
  EXPECT_EQ(gradient(q, k, q), "none");
  EXPECT_EQ(gradient(k, k, q),
            "nn.attention_gradient: operand 3 has [2, 2, 6, 3], expected "
            "[2, 4, 5, 3] of the queries");
  part.extents[2] = 4;
  EXPECT_EQ(gradient(q, part, q), "nn.attention_gradient: the operands hold "
                                  "different ranges of what is summed");
  part = q;
  part.extents[3] = 2;
  EXPECT_EQ(gradient(q, k, part),
            "nn.attention_gradient: makes no parts of rows");
  TensorInfo x = f32({5, 6}), angles = f32({5, 3});
  Attributes halves = {{"interleaved", int64_t(0)}};
  EXPECT_EQ(refusal("nn.rotary", halves, {x, angles, f32({5, 2})}, {x}),
            "nn.rotary: cosines [5, 3] and sines [5, 2] do not fit [5, 6]");
  EXPECT_EQ(
      refusal("nn.quantize", {{"axis", int64_t(1)}, {"block", int64_t(4)}},
              {x, f32({5, 3})}, {TensorInfo::whole(DType::I8, {5, 6})}),
      "nn.quantize: operand 1 has shape [5, 3], which does not fit [5, 6]");
}

TEST(KernelMessages, OfProducts) {
  TensorInfo a = f32({2, 3}), b = f32({3, 4}), c = f32({2, 4});
  auto matmul = [&](const char *labels) {
    return refusal("nn.matmul", {{"labels", labels}}, {a, b}, {c});
  };
  EXPECT_EQ(matmul("mk,kn->mn"), "none");
  EXPECT_EQ(matmul("mk->mn"),
            "nn.matmul: attribute 'labels' is 'mk->mn', expected something "
            "like 'mk,kn->mn'");
  EXPECT_EQ(matmul("mm,kn->mn"),
            "nn.matmul: attribute 'labels' is 'mm,kn->mn', expected letters, "
            "each once per tensor");
  EXPECT_EQ(matmul("mk,qn->mn"),
            "nn.matmul: label 'k' occurs in one tensor only, expected two");
  EXPECT_EQ(matmul("mkb,kn->mnb"),
            "nn.matmul: operand 0 has rank 2, expected 3");
  EXPECT_EQ(refusal("nn.matmul", {}, {a, b}, {c}),
            "nn.matmul: needs the attribute 'labels'");
  TensorInfo part = b;
  part.extents = {2, 4};
  EXPECT_EQ(refusal("nn.matmul", {{"labels", "mk,kn->mn"}}, {a, part}, {c}),
            "nn.matmul: the operands hold different ranges of label 'k'");
}

TEST(KernelMessages, OfWindows) {
  EXPECT_EQ(refusal("nn.conv", {}, {f32({2, 3}), f32({2, 3})}, {f32({2, 2})}),
            "nn.conv: got an operand of rank 2, expected at least 3");
  Attributes window = {{"strides", Dims{1}},
                       {"dilations", Dims{1}},
                       {"pads_lo", Dims{0}},
                       {"pads_hi", Dims{0}},
                       {"groups", int64_t(2)}};
  EXPECT_EQ(refusal("nn.conv", window, {f32({1, 4, 5}), f32({4, 4, 1})},
                    {f32({1, 4, 5})}),
            "nn.conv: weights of shape [4, 4, 1] in 2 groups do not fit an "
            "operand of shape [1, 4, 5]");
  EXPECT_EQ(refusal("nn.pool_max", {}, {f32({})}, {f32({})}),
            "nn.pool_max: got a scalar, expected at least one dimension");
}

TEST(KernelMessages, OfOperatorsThatAreNotThere) {
  std::string error;
  error = evaluate("nn.det", {}, {}, {}, {}, {}).message();
  EXPECT_EQ(error, "no reference kernel for nn.det");
}
