//===- Vocabularies.cpp - The vocabularies of the generator ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Table.h"

#include "divisi/Support/Labels.h"
#include "divisi/Rules/LinearFit.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static TableOperator unary(const std::string &op, size_t rank) {
  return {op, {rank}, {}, Extra::None, 0};
}

static TableOperator binary(const std::string &op, size_t left, size_t right) {
  return {op, {left, right}, {}, Extra::None, 0};
}

static TableOperator matmul(const std::string &labels) {
  std::vector<std::string_view> parts = splitLabels(labels);
  return {"matmul",
          {parts[0].size(), parts[1].size()},
          {{"labels", DimReference::Letters, labels, {}}},
          Extra::None,
          0};
}

static TableOperator concat(size_t rank, size_t axis) {
  return {"concat",
          {rank, rank},
          {{"axis", DimReference::Axis, {}, {int64_t(axis)}}},
          Extra::None,
          0};
}

static TableOperator transpose(const std::vector<int64_t> &permutation) {
  return {"transpose",
          {permutation.size()},
          {{"permutation", DimReference::Axes, {}, permutation}},
          Extra::None,
          0};
}

static TableOperator part(size_t rank, Extra which, size_t axis) {
  return {"slice", {rank}, {}, which, axis};
}

static TableOperator merge(size_t rank, size_t axis) {
  return {"reshape", {rank}, {}, Extra::Merge, axis};
}

static TableOperator reduce(size_t rank, const std::string &kind,
                            int64_t axis) {
  return {"reduce",
          {rank},
          {{"kind", DimReference::None, kind, {}},
           {"axes", DimReference::Axes, {}, {axis}}},
          Extra::None,
          0};
}

static TableOperator softmax(size_t rank, int64_t axis) {
  return {"softmax",
          {rank},
          {{"axis", DimReference::Axis, {}, {axis}},
           {"log", DimReference::None, false, {}}},
          Extra::None,
          0};
}

static TableOperator normalize(size_t rank, int64_t axis, bool isCentered) {
  return {"normalize",
          {rank},
          {{"axes", DimReference::Axes, {}, {axis}},
           {"center", DimReference::None, isCentered, {}},
           {"epsilon", DimReference::None, 0.0, {}}},
          Extra::None,
          0};
}

static TableOperator pad(const std::vector<int64_t> &lo,
                         const std::vector<int64_t> &hi) {
  return {"pad",
          {lo.size()},
          {{"lo", DimReference::PerDim, {}, lo},
           {"hi", DimReference::PerDim, {}, hi},
           {"value", DimReference::None, 0.0, {}}},
          Extra::None,
          0};
}

static TableAttribute same(const char *name, Value value) {
  return {name, DimReference::None, std::move(value), {}};
}

static TableOperator conv(int64_t stride, int64_t pad, int64_t groups) {
  return {
      "conv",
      {4, 4},
      {same("strides", listOf({stride, stride})),
       same("dilations", listOf({1, 1})), same("pads_lo", listOf({pad, pad})),
       same("pads_hi", listOf({pad, pad})), same("groups", numberExpr(groups))},
      Extra::None,
      0};
}

static TableOperator pool(const std::string &op, int64_t kernel, int64_t stride,
                          int64_t pad) {
  auto each = [](const char *name, int64_t value, int64_t other) {
    return TableAttribute{
        name, DimReference::PerDim, {}, {other, other, value, value}};
  };
  return {op,
          {4},
          {each("kernel", kernel, 1), each("strides", stride, 1),
           each("dilations", 1, 1), each("pads_lo", pad, 0),
           each("pads_hi", pad, 0)},
          Extra::None,
          0};
}

//===----------------------------------------------------------------------===//
// Vocabularies
//===----------------------------------------------------------------------===//

/// Extents of k are 2, so that a part of 2k is one of k.
int64_t divisi::rewrite::extentOf(const LeafExtent &extent) {
  constexpr int64_t ofLetters = 2, ofWindows = 3;
  return extent.letter == 0     ? extent.factor
         : extent.letter == 's' ? ofWindows * extent.factor
                                : ofLetters * extent.factor;
}

/// `2kk`: a tensor of 2 k times k.
static Leaf leaf(const std::string &dims, size_t count = 1,
                 std::optional<double> element = {}) {
  Leaf result;
  result.count = count;
  result.element = element;
  int64_t factor = 0;
  for (char c : dims) {
    if (c >= '0' && c <= '9') {
      factor = c - '0';
      continue;
    }
    bool isNumber = c == '.';
    result.dims.push_back({isNumber ? char(0) : c, factor ? factor : 1});
    factor = 0;
  }
  return result;
}

static void addParts(Vocabulary &vocabulary, size_t rank, size_t axis) {
  vocabulary.operators.push_back(part(rank, Extra::FirstPart, axis));
  vocabulary.operators.push_back(part(rank, Extra::SecondPart, axis));
}

/// What is linear in each of its tensors, in graphs of up to four operators.
static Vocabulary linearVocabulary() {
  Vocabulary vocabulary{"linear",
                        {leaf("kk", 4), leaf("2kk"), leaf("k2k"), leaf("")},
                        {matmul("mk,kn->mn"), binary("add", 2, 2),
                         binary("mul", 2, 2), binary("mul", 2, 0), concat(2, 0),
                         concat(2, 1), transpose({1, 0})},
                        4};
  addParts(vocabulary, 2, 0);
  addParts(vocabulary, 2, 1);
  return vocabulary;
}

static Vocabulary elementwiseVocabulary() {
  Vocabulary vocabulary{
      "elementwise",
      {leaf("kk", 3), leaf("k", 2), leaf("kk", 1, 0.0), leaf("kk", 1, 1.0)},
      {},
      3};
  for (const char *op : {"neg", "relu", "tanh"}) {
    vocabulary.operators.push_back(unary(op, 2));
  }
  for (const char *op : {"add", "mul"}) {
    vocabulary.operators.push_back(binary(op, 2, 2));
    vocabulary.operators.push_back(binary(op, 2, 1));
    vocabulary.operators.push_back(binary(op, 1, 1));
  }
  vocabulary.operators.push_back(binary("sub", 2, 2));
  return vocabulary;
}

static Vocabulary reductionVocabulary() {
  Vocabulary vocabulary{"reductions",
                        {leaf("kk", 3), leaf("2kk"), leaf("k"), leaf("")},
                        {reduce(2, "sum", 0),
                         reduce(2, "sum", 1),
                         reduce(2, "max", 1),
                         reduce(1, "sum", 0),
                         softmax(2, 0),
                         softmax(2, 1),
                         normalize(2, 1, true),
                         normalize(2, 1, false),
                         binary("add", 2, 2),
                         binary("mul", 2, 2),
                         binary("add", 1, 1),
                         binary("add", 2, 1),
                         binary("mul", 2, 0),
                         binary("mul", 1, 0),
                         binary("add", 0, 0),
                         binary("mul", 0, 0),
                         unary("relu", 2),
                         unary("relu", 1),
                         unary("tanh", 2),
                         unary("tanh", 1),
                         matmul("mk,kn->mn"),
                         matmul("mk,k->m"),
                         concat(2, 0),
                         concat(2, 1),
                         concat(1, 0),
                         transpose({1, 0}),
                         pad({1, 0}, {0, 0}),
                         pad({0, 0}, {0, 1}),
                         merge(2, 0)},
                        3};
  addParts(vocabulary, 2, 0);
  addParts(vocabulary, 1, 0);
  return vocabulary;
}

static Vocabulary batchVocabulary() {
  Vocabulary vocabulary{
      "batches",
      {leaf("kkk", 3), leaf("2kkk"), leaf("kk", 2), leaf("")},
      {matmul("bmk,bkn->bmn"), matmul("bmk,bnk->bmn"), matmul("bmk,kn->bmn"),
       matmul("mk,kn->mn"),    binary("add", 3, 3),    binary("add", 2, 2),
       binary("mul", 3, 3),    binary("mul", 3, 0),    binary("mul", 2, 0),
       unary("relu", 3),       unary("tanh", 3),       softmax(3, 2),
       concat(3, 0),           concat(3, 1),           concat(3, 2),
       concat(2, 0),           concat(2, 1),           transpose({0, 2, 1}),
       transpose({1, 0, 2}),   transpose({1, 0}),      merge(3, 0)},
      3};
  addParts(vocabulary, 3, 0);
  return vocabulary;
}

static Vocabulary imageVocabulary() {
  Vocabulary vocabulary{
      "images",
      {leaf("2kkss", 2), leaf("kkss", 3), leaf("k1.ss"), leaf("")},
      {conv(1, 1, 1), conv(2, 1, 1), conv(1, 1, 2), binary("add", 4, 4),
       binary("mul", 4, 4), binary("mul", 4, 0), unary("relu", 4),
       unary("tanh", 4), pool("pool_sum", 3, 1, 1), pool("pool_max", 3, 1, 1),
       concat(4, 0), concat(4, 1), reduce(4, "sum", 3),
       pad({0, 0, 1, 1}, {0, 0, 1, 1})},
      3};
  addParts(vocabulary, 4, 0);
  addParts(vocabulary, 4, 1);
  return vocabulary;
}

size_t divisi::rewrite::mostDimsOf(const Vocabulary &vocabulary) {
  size_t most = 0;
  for (const TableOperator &op : vocabulary.operators) {
    most = std::max(most, *std::max_element(op.ranks.begin(), op.ranks.end()));
  }
  return most;
}

/// Those that take longest stand first behind the one whose rules all may use.
std::vector<Vocabulary> divisi::rewrite::allVocabularies() {
  return {elementwiseVocabulary(), imageVocabulary(), linearVocabulary(),
          batchVocabulary(), reductionVocabulary()};
}

Expected<std::vector<Vocabulary>>
divisi::rewrite::chooseVocabularies(const GenerateOptions &options) {
  std::vector<Vocabulary> vocabularies = allVocabularies();
  for (const std::string &name : options.vocabularies) {
    bool isThere = std::any_of(
        vocabularies.begin(), vocabularies.end(),
        [&](const Vocabulary &vocabulary) { return vocabulary.name == name; });
    if (!isThere) {
      return Status(ExitCode::Usage,
                    "'" + name +
                        "' is not a world of the table, which --table prints");
    }
  }
  std::erase_if(vocabularies, [&](const Vocabulary &vocabulary) {
    return !options.vocabularies.empty() &&
           std::count(options.vocabularies.begin(), options.vocabularies.end(),
                      vocabulary.name) == 0;
  });
  for (Vocabulary &vocabulary : vocabularies) {
    vocabulary.most = std::min(vocabulary.most, options.most);
  }
  return vocabularies;
}
