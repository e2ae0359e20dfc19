//===- ConformanceAttention.cpp - Cases of attention and its kin ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/ConformanceCases.h"

#include <optional>

namespace divisi::rt::test {

static Attributes attention(int64_t left, int64_t right, double softcap) {
  return {{"scale", 0.5},
          {"softcap", softcap},
          {"left", left},
          {"right", right},
          {"offset", int64_t(1)}};
}

static Attributes blocks(int64_t axis, int64_t block) {
  return {{"axis", axis}, {"block", block}};
}

static void addConvDgrad(std::vector<Case> &cases) {
  auto gradient = [](Dims strides, Dims dilations, Dims low, Dims extents,
                     int64_t groups) -> Attributes {
    return {{"strides", strides},
            {"dilations", dilations},
            {"pads_lo", low},
            {"extents", extents},
            {"groups", groups}};
  };
  cases.push_back({"conv_dgrad",
                   "nn.conv_dgrad",
                   gradient({2, 1}, {1, 2}, {1, 2}, {9, 6}, 1),
                   {f32({2, 4, 5, 6}), f32({4, 3, 3, 3})},
                   f32({2, 3, 9, 6}),
                   {{0, 1}, {1, 0}}});
  Case grouped{"conv_dgradGroups",
               "nn.conv_dgrad",
               gradient({3}, {1}, {0}, {14}, 2),
               {i32({2, 4, 5}), i32({4, 3, 2})},
               i32({2, 6, 14})};
  grouped.kept = {{1, 0}};
  cases.push_back(grouped);
  // Rows of several pieces.
  cases.push_back({"conv_dgradLong",
                   "nn.conv_dgrad",
                   gradient({2}, {3}, {2}, {1203}, 1),
                   {f32({1, 2, 600}), f32({2, 2, 3})},
                   f32({1, 2, 1203}),
                   {{0, 1}, {1, 0}}});
}

/// The logarithm of an attention's sums, and the gradients of that of `v`.
static void addGradients(std::vector<Case> &cases, const std::string &name,
                         Attributes attributes, const TensorInfo &q,
                         const TensorInfo &k, const TensorInfo &v,
                         const std::optional<TensorInfo> &mask = {}) {
  Dims rows(q.global.begin(), q.global.begin() + 3), y = q.global;
  y.back() = v.global.back();
  auto with = [&](std::vector<TensorInfo> operands) {
    if (mask) {
      operands.push_back(*mask);
    }
    return operands;
  };
  Case lse{"attentionLse" + name, "nn.attention_lse", attributes, with({q, k}),
           f32(rows)};
  lse.resultIsSum = true;
  cases.push_back(lse);
  const TensorInfo *results[] = {&q, &k, &v};
  for (size_t of = 0; of < 3; ++of) {
    attributes.set("of", std::string(1, "qkv"[of]));
    Case made{"attentionGradient" + name + "qkv"[of], "nn.attention_gradient",
              attributes, with({q, k, v, f32(y), f32(rows), f32(rows)}),
              *results[of]};
    made.partial = of == 0
                       ? decltype(made.partial){{1, 2}, {2, 2}}
                       : decltype(made.partial){{0, 2}, {3, 2}, {4, 2}, {5, 2}};
    made.sums = {4, 5};
    size_t summed = of == 0 ? 3 : 2;
    if (mask && mask->global[summed] != 1) {
      made.partial.push_back({6, summed});
    }
    if (of != 0) { // heads of queries are what there is of a group
      made.kept = {{0, 1}, {3, 1}, {4, 1}, {5, 1}};
      if (mask) {
        made.kept.push_back({6, 1});
      }
    }
    cases.push_back(made);
  }
}

void addAttention(std::vector<Case> &cases) {
  TensorInfo q = f32({2, 6, 5, 17}), k = f32({2, 3, 7, 17});
  TensorInfo v = f32({2, 3, 7, 4}), y = f32({2, 6, 5, 4});
  TensorInfo flags = TensorInfo::whole(DType::Bool, {2, 1, 5, 7});
  cases.push_back(
      {"attention", "nn.attention", attention(-1, -1, 0), {q, k, v}, y});
  cases.push_back(
      {"attentionCausal", "nn.attention", attention(-1, 0, 3), {q, k, v}, y});
  cases.push_back(
      {"attentionWindow", "nn.attention", attention(1, 2, 0), {q, k, v}, y});
  cases.push_back({"attentionBias",
                   "nn.attention",
                   attention(-1, -1, 0),
                   {q, k, v, f32({1, 6, 1, 7})},
                   y});
  cases.push_back({"attentionMask",
                   "nn.attention",
                   attention(-1, 0, 0),
                   {q, k, v, flags},
                   y});
  Attributes lengthsFirst = attention(-1, 0, 0);
  lengthsFirst.set("labels", std::string("bshd,tbhd,bthe->shbe"));
  lengthsFirst.set("nan", int64_t(1));
  cases.push_back(
      {"attentionLabels",
       "nn.attention",
       lengthsFirst,
       {f32({2, 5, 6, 17}), f32({7, 2, 3, 17}), f32({2, 7, 3, 4}), flags},
       f32({5, 6, 2, 4})});
  // More queries than a block has.
  cases.push_back({"attentionLong",
                   "nn.attention",
                   attention(70, 0, 0),
                   {f32({1, 4, 150, 8}), f32({1, 2, 170, 8}),
                    f32({1, 2, 170, 8}), f32({1, 1, 150, 170})},
                   f32({1, 4, 150, 8})});
  addGradients(cases, "", attention(-1, -1, 0), q, k, v);
  addGradients(cases, "Causal", attention(-1, 0, 8), q, k, v);
  addGradients(cases, "Window", attention(1, 2, 0), q, k, v, flags);
  addGradients(cases, "Bias", attention(-1, -1, 0), q, k, v, f32({1, 6, 1, 7}));
  addGradients(cases, "Long", attention(70, 0, 0), f32({1, 2, 150, 8}),
               f32({1, 1, 300, 8}), f32({1, 1, 300, 5}));
  for (int64_t interleaved : {0, 1}) {
    for (int64_t angles : {3, 4}) {
      TensorInfo table = f32({1, 5, angles});
      cases.push_back({"rotary" + std::to_string(angles) +
                           (interleaved ? "Neighbours" : "Halves"),
                       "nn.rotary",
                       {{"interleaved", interleaved}},
                       {f32({3, 5, 8}), table, table},
                       f32({3, 5, 8})});
    }
  }
  addConvDgrad(cases);
  TensorInfo x = f32({3, 7, 4}), scales = f32({3, 3, 1});
  TensorInfo codes = TensorInfo::whole(DType::I8, {3, 7, 4});
  TensorInfo zeros = TensorInfo::whole(DType::I8, {1, 3, 4});
  cases.push_back(
      {"quantize", "nn.quantize", blocks(1, 3), {x, scales, zeros}, codes});
  cases.push_back({"quantizeWhole",
                   "nn.quantize",
                   blocks(0, 1),
                   {x, f32({1, 1, 1})},
                   codes});
  cases.push_back(
      {"dequantize", "nn.dequantize", blocks(1, 3), {codes, scales, zeros}, x});
  cases.push_back({"dequantizeChannels",
                   "nn.dequantize",
                   blocks(2, 1),
                   {codes, f32({1, 1, 4})},
                   x});
}

void addIntegers(std::vector<Case> &cases) {
  TensorInfo x = f32({3, 7, 4});
  cases.push_back({"addDequantized",
                   "nn.add_dequantized",
                   {},
                   {x, TensorInfo::whole(DType::I8, {3, 7, 4}), f32({1, 1, 1}),
                    TensorInfo::whole(DType::I8, {1, 1, 1})},
                   x});
  TensorInfo a = TensorInfo::whole(DType::U8, {2, 5, 7});
  TensorInfo b = TensorInfo::whole(DType::I8, {7, 6});
  cases.push_back({"matmulInteger",
                   "nn.matmul_integer",
                   {{"labels", "bmk,kn->bmn"},
                    {"a_zero", int64_t(3)},
                    {"b_zero", int64_t(-2)}},
                   {a, b},
                   i32({2, 5, 6}),
                   {{0, 2}, {1, 0}}});
  cases.push_back({"convInteger",
                   "nn.conv_integer",
                   {{"strides", Dims{2, 1}},
                    {"dilations", Dims{1, 2}},
                    {"pads_lo", Dims{1, 0}},
                    {"pads_hi", Dims{0, 2}},
                    {"groups", int64_t(1)},
                    {"x_zero", int64_t(2)},
                    {"w_zero", int64_t(0)}},
                   {TensorInfo::whole(DType::U8, {2, 3, 8, 7}),
                    TensorInfo::whole(DType::I8, {5, 3, 3, 2})},
                   i32({2, 5, 4, 7}),
                   {{0, 1}, {1, 1}}});
}

} // namespace divisi::rt::test