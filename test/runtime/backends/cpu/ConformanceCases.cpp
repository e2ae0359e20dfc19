//===- ConformanceCases.cpp - Calls that every backend must answer alike --===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/ConformanceCases.h"

#include <algorithm>

namespace divisi::rt::test {

using S = std::string;

static TensorInfo flags(Dims dims) {
  return TensorInfo::whole(DType::Bool, std::move(dims));
}

/// Odd extents, and one that is large enough for threads.
static void addElementwise(std::vector<Case> &cases) {
  for (const Dims &dims : {Dims{5, 7, 3}, Dims{97, 401}}) {
    S size = dims.size() == 3 ? "Small" : "Large";
    for (const char *op :
         {"neg",  "abs",  "sign",  "sqrt",  "rsqrt", "exp",       "log",
          "erf",  "sin",  "cos",   "tan",   "asin",  "acos",      "atan",
          "sinh", "cosh", "asinh", "acosh", "atanh", "tanh",      "sigmoid",
          "silu", "relu", "floor", "ceil",  "round", "hard_swish"}) {
      cases.push_back(
          {S(op) + size, S("nn.") + op, {}, {f32(dims)}, f32(dims)});
    }
    for (const char *kind : {"none", "tanh"}) {
      cases.push_back({S("gelu_") + kind + size,
                       "nn.gelu",
                       {{"approximate", S(kind)}},
                       {f32(dims)},
                       f32(dims)});
    }
    for (const char *op : {"add", "sub", "mul", "div", "pow", "max", "min"}) {
      Dims row{dims.back()}, column = dims;
      column.back() = 1;
      S nn = S("nn.") + op;
      cases.push_back(
          {S(op) + size, nn, {}, {f32(dims), f32(dims)}, f32(dims)});
      cases.push_back(
          {S(op) + "Row" + size, nn, {}, {f32(dims), f32(row)}, f32(dims)});
      cases.push_back({S(op) + "Column" + size,
                       nn,
                       {},
                       {f32(column), f32(dims)},
                       f32(dims)});
      cases.push_back(
          {S(op) + "Scalar" + size, nn, {}, {f32(dims), f32({})}, f32(dims)});
      cases.push_back(
          {S(op) + "Int" + size, nn, {}, {i32(dims), i32(row)}, i32(dims)});
    }
    cases.push_back({"selectColumn" + size,
                     "nn.select",
                     {},
                     {flags({dims.back()}), f32(dims), f32({})},
                     f32(dims)});
    cases.push_back({"compare" + size,
                     "nn.compare",
                     {{"predicate", S("lt")}},
                     {i64(dims), i64(dims)},
                     flags(dims)});
    cases.push_back({"cast" + size, "nn.cast", {}, {f32(dims)}, i32(dims)});
    cases.push_back(
        {"is_nan" + size, "nn.is_nan", {}, {f32(dims)}, flags(dims)});
    cases.push_back(
        {"is_inf" + size, "nn.is_inf", {}, {f32(dims)}, flags(dims)});
    cases.push_back({"not" + size, "nn.not", {}, {flags(dims)}, flags(dims)});
    cases.push_back({"mod" + size,
                     "nn.mod",
                     {{"fmod", int64_t(0)}},
                     {i64(dims), i64(dims)},
                     i64(dims)});
    for (int64_t left : {0, 1}) {
      cases.push_back({(left ? "shiftLeft" : "shiftRight") + size,
                       "nn.shift",
                       {{"left", left}},
                       {i32(dims), i32({dims.back()})},
                       i32(dims)});
    }
    cases.push_back({"notBits" + size, "nn.not", {}, {i32(dims)}, i32(dims)});
    for (const char *op : {"and", "or", "xor"}) {
      cases.push_back({S(op) + size,
                       S("nn.") + op,
                       {},
                       {flags(dims), flags(dims)},
                       flags(dims)});
    }
  }
}

static void addMatmul(std::vector<Case> &cases, S name, S labels, Dims a,
                      Dims b, Dims c,
                      std::vector<std::pair<size_t, size_t>> partial) {
  cases.push_back({name,
                   "nn.matmul",
                   {{"labels", labels}},
                   {f32(a), f32(b)},
                   f32(c),
                   partial});
  cases.push_back({name + "Int",
                   "nn.matmul",
                   {{"labels", labels}},
                   {i32(a), i32(b)},
                   i32(c),
                   partial});
}

static void addContractions(std::vector<Case> &cases) {
  using P = std::vector<std::pair<size_t, size_t>>;
  P k11{{0, 1}, {1, 1}}, k10{{0, 1}, {1, 0}};
  addMatmul(cases, "matmul", "mk,kn->mn", {13, 17}, {17, 19}, {13, 19}, k10);
  addMatmul(cases, "matmulTransposed", "km,nk->mn", {17, 13}, {19, 17},
            {13, 19}, {{0, 0}, {1, 1}});
  addMatmul(cases, "matmulSwapped", "mk,kn->nm", {13, 17}, {17, 19}, {19, 13},
            k10);
  addMatmul(cases, "matmulVector", "mk,k->m", {13, 17}, {17}, {13}, k10);
  addMatmul(cases, "dot", "k,k->", {17}, {17}, {}, {{0, 0}, {1, 0}});
  addMatmul(cases, "outer", "m,n->mn", {5}, {9}, {5, 9}, {});
  addMatmul(cases, "rowwiseDot", "bk,bk->b", {5, 17}, {5, 17}, {5}, k11);
  addMatmul(cases, "batched", "bmk,bkn->bmn", {3, 5, 7}, {3, 7, 9}, {3, 5, 9},
            {{0, 2}, {1, 1}});
  addMatmul(cases, "sharedWeights", "bmk,kn->bmn", {3, 5, 7}, {7, 9}, {3, 5, 9},
            {{0, 2}, {1, 0}});
  addMatmul(cases, "scores", "bshd,bthd->bhst", {2, 5, 3, 8}, {2, 6, 3, 8},
            {2, 3, 5, 6}, {{0, 3}, {1, 3}});
  addMatmul(cases, "attend", "bhst,bthd->bshd", {2, 3, 5, 6}, {2, 6, 3, 8},
            {2, 5, 3, 8}, {{0, 3}, {1, 1}});
  addMatmul(cases, "qkv", "bse,echd->bschd", {2, 5, 12}, {12, 3, 2, 4},
            {2, 5, 3, 2, 4}, {{0, 2}, {1, 0}});
  addMatmul(cases, "interleaved", "abk,cdk->acbd", {2, 3, 7}, {4, 5, 7},
            {2, 4, 3, 5}, {{0, 2}, {1, 2}});
  addMatmul(cases, "innerBatch", "kmb,nkb->mnb", {7, 3, 4}, {5, 7, 4},
            {3, 5, 4}, {{0, 0}, {1, 1}});
}

static Attributes conv(Dims strides, Dims dilations, Dims low, Dims high,
                       int64_t groups) {
  return {{"strides", strides},
          {"dilations", dilations},
          {"pads_lo", low},
          {"pads_hi", high},
          {"groups", groups}};
}

static void addWindows(std::vector<Case> &cases) {
  std::vector<std::pair<size_t, size_t>> channels{{0, 1}, {1, 1}};
  cases.push_back({"conv1",
                   "nn.conv",
                   conv({1}, {1}, {1}, {1}, 1),
                   {f32({2, 5, 11}), f32({6, 5, 3})},
                   f32({2, 6, 11}),
                   channels});
  cases.push_back({"conv2",
                   "nn.conv",
                   conv({2, 1}, {1, 2}, {1, 2}, {1, 2}, 1),
                   {f32({2, 5, 12, 9}), f32({6, 5, 3, 3})},
                   f32({2, 6, 6, 9}),
                   channels});
  cases.push_back({"conv2Uneven",
                   "nn.conv",
                   conv({3, 2}, {1, 1}, {0, 2}, {2, 0}, 1),
                   {f32({1, 3, 13, 14}), f32({4, 3, 5, 4})},
                   f32({1, 4, 4, 7}),
                   channels});
  cases.push_back({"conv2Groups",
                   "nn.conv",
                   conv({1, 1}, {1, 1}, {1, 1}, {1, 1}, 3),
                   {f32({2, 6, 7, 7}), f32({9, 2, 3, 3})},
                   f32({2, 9, 7, 7})});
  cases.push_back({"convDepthwise",
                   "nn.conv",
                   conv({1, 1}, {1, 1}, {1, 1}, {1, 1}, 8),
                   {f32({1, 8, 7, 7}), f32({8, 1, 3, 3})},
                   f32({1, 8, 7, 7})});
  cases.push_back({"conv3",
                   "nn.conv",
                   conv({1, 1, 2}, {1, 1, 1}, {1, 0, 1}, {1, 0, 1}, 1),
                   {f32({1, 3, 5, 5, 6}), f32({4, 3, 3, 2, 3})},
                   f32({1, 4, 5, 4, 3}),
                   channels});
  cases.push_back({"convInt",
                   "nn.conv",
                   conv({1}, {1}, {1}, {1}, 1),
                   {i32({2, 5, 11}), i32({6, 5, 3})},
                   i32({2, 6, 11}),
                   channels});
}

static void addPools(std::vector<Case> &cases) {
  for (const char *op : {"pool_max", "pool_sum"}) {
    Attributes pool{{"kernel", Dims{1, 1, 3, 2}},
                    {"strides", Dims{1, 1, 2, 1}},
                    {"dilations", Dims{1, 1, 1, 2}},
                    {"pads_lo", Dims{0, 0, 1, 1}},
                    {"pads_hi", Dims{0, 0, 1, 0}}};
    cases.push_back(
        {op, S("nn.") + op, pool, {f32({2, 3, 9, 8})}, f32({2, 3, 5, 7})});
    cases.push_back({S(op) + "Int",
                     S("nn.") + op,
                     pool,
                     {i64({2, 3, 9, 8})},
                     i64({2, 3, 5, 7})});
    // Lines of all lengths, of floats and of bytes, are one kernel's.
    for (int64_t line : {5, 43, 91, 300}) {
      Attributes lines{{"kernel", Dims{1, 3, 2, 1}},
                       {"strides", Dims{1, 2, 1, 1}},
                       {"dilations", Dims{1, 1, 1, 1}},
                       {"pads_lo", Dims{0, 1, 1, 0}},
                       {"pads_hi", Dims{0, 1, 0, 0}}};
      S name = S(op) + "Lines" + std::to_string(line);
      cases.push_back({name,
                       S("nn.") + op,
                       lines,
                       {f32({1, 4, 3, line})},
                       f32({1, 2, 3, line})});
      cases.push_back({name + "Int",
                       S("nn.") + op,
                       lines,
                       {i32({1, 4, 3, line})},
                       i32({1, 2, 3, line})});
    }
    // More taps than are looked up for several lines, and for any.
    for (int64_t window : {130, 260}) {
      Attributes large{{"kernel", Dims{1, window, window, 1}},
                       {"strides", Dims{1, 7, 1, 1}},
                       {"dilations", Dims{1, 1, 1, 1}},
                       {"pads_lo", Dims{0, 0, 1, 0}},
                       {"pads_hi", Dims{0, 0, 0, 0}}};
      cases.push_back({S(op) + "Window" + std::to_string(window),
                       S("nn.") + op,
                       large,
                       {f32({1, window + 7, window, 6})},
                       f32({1, 2, 2, 6})});
    }
  }
}

static void addLines(std::vector<Case> &cases) {
  for (const char *kind : {"sum", "prod", "max", "min"}) {
    S combine = S(kind) == "prod" ? "prod" : kind;
    auto add = [&](S name, Dims axes, Dims from, Dims to) {
      Attributes attributes{{"kind", S(kind)}, {"axes", axes}};
      cases.push_back({"reduce_" + S(kind) + name,
                       "nn.reduce",
                       attributes,
                       {f32(from)},
                       f32(to),
                       {{0, size_t(axes[0])}},
                       combine});
      cases.push_back({"reduce_" + S(kind) + name + "Int",
                       "nn.reduce",
                       attributes,
                       {i32(from)},
                       i32(to),
                       {{0, size_t(axes[0])}},
                       combine});
    };
    add("Inner", {2}, {3, 5, 19}, {3, 5});
    add("Outer", {0}, {5, 3, 7}, {3, 7});
    add("Middle", {1}, {3, 5, 7}, {3, 7});
    add("Ends", {0, 2}, {3, 5, 9}, {5});
    add("Large", {1}, {301, 140}, {301});
    add("LongOuter", {0}, {29, 47}, {47});
  }
  for (const char *kind : {"and", "or"}) {
    cases.push_back({"reduce_" + S(kind),
                     "nn.reduce",
                     {{"kind", S(kind)}, {"axes", Dims{1}}},
                     {flags({3, 4})},
                     flags({3}),
                     {{0, 1}},
                     kind});
  }
  for (int64_t axis : {0, 1, 2}) {
    for (int64_t log : {0, 1}) {
      cases.push_back({"softmax" + std::to_string(axis) + (log ? "Log" : ""),
                       "nn.softmax",
                       {{"axis", axis}, {"log", log}},
                       {f32({4, 5, 19})},
                       f32({4, 5, 19})});
    }
  }
  for (int64_t center : {0, 1}) {
    for (const Dims &axes : {Dims{2}, Dims{1, 2}, Dims{0}, Dims{0, 2}}) {
      cases.push_back({"normalize" + std::to_string(axes[0]) +
                           (axes.size() == 2 ? "And2" : "") +
                           (center ? "" : "Rms"),
                       "nn.normalize",
                       {{"axes", axes}, {"center", center}, {"epsilon", 1e-5}},
                       {f32({6, 5, 19})},
                       f32({6, 5, 19})});
    }
  }
}

/// Reduced dimensions after the first, and the channels within a group.
static void keepDims(std::vector<Case> &cases) {
  for (Case &test : cases) {
    if (test.op == "nn.reduce") {
      for (int64_t axis : test.attributes.getInts("axes")) {
        test.kept.emplace_back(0, size_t(axis));
      }
    } else if (test.op == "nn.conv") {
      test.kept.emplace_back(1, 1);
    }
  }
}

static void addMovement(std::vector<Case> &cases) {
  cases.push_back(
      {"reshapeSplit", "nn.reshape", {}, {f32({6, 4, 5})}, f32({2, 3, 20})});
  cases.push_back(
      {"reshapeMerge", "nn.reshape", {}, {i64({2, 3, 4})}, i64({6, 2, 2})});
  cases.push_back({"reshapeOdd", "nn.reshape", {}, {f32({6, 4})}, f32({3, 8})});
  for (const Dims &p :
       {Dims{0, 2, 1}, Dims{1, 0, 2}, Dims{2, 1, 0}, Dims{1, 2, 0}}) {
    Dims from{19, 5, 18}, to{from[p[0]], from[p[1]], from[p[2]]};
    S name = "transpose";
    for (int64_t d : p) {
      name += std::to_string(d);
    }
    cases.push_back(
        {name, "nn.transpose", {{"permutation", p}}, {f32(from)}, f32(to)});
    cases.push_back({name + "Bool",
                     "nn.transpose",
                     {{"permutation", p}},
                     {flags(from)},
                     flags(to)});
  }
  cases.push_back({"broadcast",
                   "nn.broadcast",
                   {{"dims", Dims{1, 3}}},
                   {f32({5, 1})},
                   f32({3, 5, 2, 4})});
  cases.push_back({"slice",
                   "nn.slice",
                   {{"starts", Dims{1, 8, 0}},
                    {"limits", Dims{6, -1, 7}},
                    {"steps", Dims{2, -3, 1}}},
                   {f32({6, 9, 7})},
                   f32({3, 3, 7})});
  cases.push_back({"pad",
                   "nn.pad",
                   {{"lo", Dims{2, -1}}, {"hi", Dims{1, 3}}, {"value", 1.5}},
                   {f32({5, 6})},
                   f32({8, 8})});
  cases.push_back(
      {"concat",
       "nn.concat",
       {{"axis", int64_t(1)}},
       {f32({3, 2, 4}), f32({3, 5, 4}), f32({3, 0, 4}), f32({3, 1, 4})},
       f32({3, 8, 4})});
}

static void addIndices(std::vector<Case> &cases) {
  cases.push_back({"gather",
                   "nn.gather",
                   {{"axis", int64_t(0)}, {"batch_dims", int64_t(0)}},
                   {f32({9, 5}), i64({3, 4})},
                   f32({3, 4, 5}),
                   {{0, 0}},
                   "sum",
                   -9,
                   9,
                   9});
  cases.push_back({"gatherMiddle",
                   "nn.gather",
                   {{"axis", int64_t(1)}, {"batch_dims", int64_t(0)}},
                   {i64({3, 9, 5}), i32({4})},
                   i64({3, 4, 5}),
                   {{0, 1}},
                   "sum",
                   -9,
                   9,
                   9});
  cases.push_back({"gatherBatch",
                   "nn.gather",
                   {{"axis", int64_t(2)}, {"batch_dims", int64_t(1)}},
                   {f32({3, 2, 9, 5}), i32({3, 4})},
                   f32({3, 2, 4, 5}),
                   {{0, 2}},
                   "sum",
                   -9,
                   9,
                   9});
  // Large enough for a team of threads.
  cases.push_back({"gatherWide",
                   "nn.gather",
                   {{"axis", int64_t(0)}, {"batch_dims", int64_t(0)}},
                   {f32({9, 300}), i64({40, 3})},
                   f32({40, 3, 300}),
                   {{0, 0}},
                   "sum",
                   -9,
                   9,
                   9});
  cases.push_back({"take_along",
                   "nn.take_along",
                   {{"axis", int64_t(1)}},
                   {f32({3, 9, 4}), i64({3, 5, 4})},
                   f32({3, 5, 4}),
                   {{0, 1}},
                   "sum",
                   -9,
                   9,
                   9});
  cases.push_back(
      {"iota", "nn.iota", {{"axis", int64_t(1)}}, {}, i32({3, 7, 2})});
  Dims indices;
  std::vector<double> weights;
  for (int64_t o = 0; o < 9; ++o) {
    indices.insert(indices.end(), {o / 2, std::min<int64_t>(4, o / 2 + 1)});
    weights.insert(weights.end(), {0.75, 0.25});
  }
  cases.push_back({"resample",
                   "nn.resample",
                   {{"axis", int64_t(1)},
                    {"taps", int64_t(2)},
                    {"indices", indices},
                    {"weights", weights}},
                   {f32({3, 5, 4})},
                   f32({3, 9, 4})});
}

std::vector<Case> conformanceCases() {
  std::vector<Case> cases;
  addElementwise(cases);
  addContractions(cases);
  addWindows(cases);
  addPools(cases);
  addLines(cases);
  addMovement(cases);
  addIndices(cases);
  addOrder(cases);
  addAttention(cases);
  keepDims(cases);
  addTypes(cases);
  addIntegers(cases);
  return cases;
}

} // namespace divisi::rt::test
