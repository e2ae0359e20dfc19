//===- ImportMultiHead.cpp - Fused attention of ONNX Runtime --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Its optimizer makes Attention of a projection to queries, keys and values and
// what follows, and MultiHeadAttention where they are projected apart; its
// quantizer makes QAttention of the former. A key that is padding is no less
// attended than the attribute mask_filter_value says, which is no infinity: a
// row of padding alone has the weights that its products give.
//
//===----------------------------------------------------------------------===//

#include "AttentionNode.h"

#include <cmath>

using namespace divisi;
using rt::DType;

//===----------------------------------------------------------------------===//
// What both have
//===----------------------------------------------------------------------===//

/// Booleans that broadcast to [batch, 1, queries, keys]: what input `i`, one of
/// the forms of a padding mask, lets be attended.
static Tensor attendedKeys(NodeImporter &node, size_t i,
                           const AttentionNode &it) {
  Emitter &emit = node.emitter();
  const Tensor &mask = node.input(i);
  int64_t batch = it.q->dims[0];
  const rt::Dims &dims = mask->dims;
  rt::Dims byKey = {batch, it.keys()};
  rt::Dims byQuery = {batch, it.queries(), it.keys()};
  if (dims == byKey || dims == byQuery) {
    rt::Dims four = {batch, 1, dims.size() == 3 ? it.queries() : 1, it.keys()};
    Tensor given = emit.reshape(mask, four);
    return emit.compare("gt", given, emit.scalar(mask->type, 0));
  }
  bool isEnds = dims == rt::Dims{batch}, isBoth = dims == rt::Dims{2 * batch};
  if (!isEnds && !isBoth) {
    node.unsupported("a mask of shape " + formatInts(dims) + " for " +
                     formatInts(byQuery) +
                     " batches, queries and keys; export the model with one of "
                     "[batch, keys], [batch, queries, keys] or [batch]");
    return mask;
  }
  Tensor bounds = emit.cast(mask, DType::I64);
  auto bound = [&](int64_t half) {
    return emit.reshape(
        emit.sliceAxis(bounds, 0, half * batch, (half + 1) * batch),
        {batch, 1, 1, 1});
  };
  Tensor result = keysBefore(emit, it, bound(0));
  if (isBoth) {
    Tensor key = emit.iota(DType::I64, {1, 1, 1, it.keys()}, 3);
    result = emit.binary("and", result, emit.compare("ge", key, bound(1)));
  }
  return result;
}

/// Scale, causality, the padding mask that is input `mask` and the bias that is
/// input `bias`.
static void readRest(NodeImporter &node, AttentionNode &it, size_t mask,
                     size_t bias) {
  Emitter &emit = node.emitter();
  DType type = it.q->type;
  double scale = node.getFloat("scale");
  it.scale = scale != 0 ? scale : 1 / std::sqrt(double(it.q->dims[3]));
  if (node.getInt("unidirectional") != 0) {
    it.right = 0;
  }
  if (node.hasInput(mask)) {
    double filter = node.getFloat("mask_filter_value", -10000);
    Tensor attended = attendedKeys(node, mask, it);
    if (node.failed()) {
      return;
    }
    it.mask =
        emit.select(attended, emit.scalar(type, 0), emit.scalar(type, filter));
  }
  if (node.hasInput(bias)) {
    const Tensor &given = node.input(bias);
    if (given->rank() != 4) {
      return node.invalid("an attention_bias of shape " +
                          formatInts(given->dims) + ", expected four dims");
    }
    it.mask = it.mask ? emit.binary("add", it.mask, given) : given;
  }
}

/// Whether a cache is grown by concatenation; another is refused.
static bool checkCache(NodeImporter &node, size_t length,
                       std::optional<size_t> indirection) {
  if (node.getInt("past_present_share_buffer") != 0 || node.hasInput(length) ||
      (indirection && node.hasInput(*indirection))) {
    node.unsupported("it writes into a cache in place; export the model with "
                     "past and present apart");
  }
  return !node.failed();
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// [batch, length, heads, depth] by heads, with the part of the bias, input 3,
/// that begins at `begin` added before.
static Tensor biased(NodeImporter &node, Tensor x, int64_t begin) {
  Emitter &emit = node.emitter();
  if (node.hasInput(3)) {
    const Tensor &bias = node.input(3);
    int64_t heads = x->dims[2], depth = x->dims[3];
    if (bias->rank() != 1 || bias->dims[0] < begin + heads * depth) {
      node.invalid("a bias of shape " + formatInts(bias->dims) +
                   " does not fit " + std::to_string(heads) +
                   " heads of a depth of " + std::to_string(depth));
      return x;
    }
    Tensor part = emit.sliceAxis(bias, 0, begin, begin + heads * depth);
    x = emit.binary("add", x, emit.reshape(part, {heads, depth}));
  }
  return emit.transpose(x, {0, 2, 1, 3});
}

/// Input `i` as [batch, length, heads, depth].
static Tensor apart(NodeImporter &node, size_t i, int64_t heads) {
  Emitter &emit = node.emitter();
  Tensor x = splitHeads(node, node.input(i), heads,
                        "input " + std::to_string(i), "num_heads");
  return node.failed() ? x : emit.transpose(x, {0, 2, 1, 3});
}

/// Part `which` of input `i`, [batch, length, heads, parts, depth].
static Tensor packedPart(NodeImporter &node, size_t i, int64_t which) {
  Emitter &emit = node.emitter();
  const rt::Dims &dims = node.input(i)->dims;
  return emit.reshape(emit.sliceAxis(node.input(i), 3, which, which + 1),
                      {dims[0], dims[1], dims[2], dims[4]});
}

/// Whether input `i` is packed in `parts`; fails if it has five dims of
/// another form.
static bool isPacked(NodeImporter &node, size_t i, int64_t heads,
                     int64_t parts) {
  const rt::Dims &dims = node.input(i)->dims;
  if (dims.size() == 5 && (dims[2] != heads || dims[3] != parts)) {
    node.invalid("input " + std::to_string(i) + " of shape " +
                 formatInts(dims) + " does not have " + std::to_string(heads) +
                 " heads of " + std::to_string(parts) + " parts");
  }
  return dims.size() == 5;
}

/// Queries, keys and values in whichever of the forms they come.
static void readOperands(NodeImporter &node, AttentionNode &it) {
  int64_t heads = node.getInt("num_heads");
  if (isPacked(node, 0, heads, 3)) {
    if (node.failed()) {
      return;
    }
    const rt::Dims &dims = node.input(0)->dims;
    int64_t width = dims[2] * dims[4];
    it.q = biased(node, packedPart(node, 0, 0), 0);
    it.k = biased(node, packedPart(node, 0, 1), width);
    it.v = biased(node, packedPart(node, 0, 2), 2 * width);
    return;
  }
  if (!node.requireInputs({1})) {
    return;
  }
  Tensor q = apart(node, 0, heads);
  bool isPair = isPacked(node, 1, heads, 2);
  if (node.failed() || (!isPair && !node.requireInputs({2}))) {
    return;
  }
  int64_t width = q->dims[2] * q->dims[3];
  it.q = biased(node, q, 0);
  if (isPair) {
    it.k = biased(node, packedPart(node, 1, 0), width);
    it.v = biased(node, packedPart(node, 1, 1), 2 * width);
  } else if (node.input(1)->rank() == 4) {
    // Of another sequence: projected, and biased, before.
    it.k = node.input(1);
    it.v = node.input(2);
  } else {
    Tensor k = apart(node, 1, heads), v = apart(node, 2, heads);
    if (!node.failed()) {
      it.k = biased(node, k, width);
      it.v = biased(node, v, 2 * width);
    }
  }
}

static void importMultiHeadAttention(NodeImporter &node) {
  AttentionNode it;
  if (!node.requireInputs({0}) || !checkCache(node, 8, 9)) {
    return;
  }
  readOperands(node, it);
  if (node.failed()) {
    return;
  }
  if (node.hasInput(6) != node.hasInput(7)) {
    return node.invalid("it has one of past_key and past_value, expected both "
                        "or none");
  }
  if (node.hasInput(6)) {
    it.k = behindPast(node, node.input(6), it.k);
    it.v = behindPast(node, node.input(7), it.v);
    it.offset = node.failed() ? 0 : node.input(6)->dims[2];
  }
  if (node.failed() || !checkHeads(node, it)) {
    return;
  }
  readRest(node, it, 4, 5);
  if (!node.failed()) {
    node.setResult(0, joinHeads(node.emitter(), attend(node.emitter(), it)));
    node.setResult(1, it.k);
    node.setResult(2, it.v);
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Widths of queries, keys and values, all heads together.
static std::vector<int64_t> widthsOf(NodeImporter &node, int64_t all) {
  std::vector<int64_t> widths = node.getInts("qkv_hidden_sizes");
  int64_t heads = node.getInt("num_heads"), sum = 0;
  if (widths.empty()) {
    widths.assign(3, all / 3);
  }
  bool fits = widths.size() == 3 && heads > 0;
  for (int64_t width : widths) {
    fits = fits && width > 0 && width <= all && width % heads == 0;
    sum += fits ? width : 0;
  }
  if (!fits || sum != all || widths[0] != widths[1]) {
    node.invalid("a projection to " + std::to_string(all) + ", " +
                 std::to_string(heads) + " heads and qkv_hidden_sizes " +
                 formatInts(widths) + " do not fit together");
  }
  return widths;
}

/// The part of a projection [batch, length, width] that begins at `begin`, by
/// heads, which divide its width.
static Tensor projectedHeads(NodeImporter &node, const Tensor &all,
                             int64_t begin, int64_t width) {
  Emitter &emit = node.emitter();
  int64_t heads = node.getInt("num_heads");
  Tensor part = emit.sliceAxis(all, 2, begin, begin + width);
  rt::Dims dims = {all->dims[0], all->dims[1], heads, width / heads};
  return emit.transpose(emit.reshape(part, dims), {0, 2, 1, 3});
}

/// Of three parts of one width, one; of a dim for each, so that heads can be
/// split.
static Tensor partOfThree(NodeImporter &node, const Tensor &all,
                          int64_t which) {
  Emitter &emit = node.emitter();
  int64_t heads = node.getInt("num_heads"), depth = all->dims[2] / 3 / heads;
  rt::Dims dims = {all->dims[0], all->dims[1], 3, heads, depth};
  Tensor part = emit.sliceAxis(emit.reshape(all, dims), 2, which, which + 1);
  return emit.transpose(emit.reshape(part, {dims[0], dims[1], heads, depth}),
                        {0, 2, 1, 3});
}

/// Half of input `i`, [2, batch, heads, length, depth].
static Tensor halfOfPast(NodeImporter &node, size_t i, int64_t half) {
  const rt::Dims &dims = node.input(i)->dims;
  return node.emitter().reshape(
      node.emitter().sliceAxis(node.input(i), 0, half, half + 1),
      rt::Dims(dims.begin() + 1, dims.end()));
}

/// What follows the projection, for which the inputs `mask`, `past` and `bias`
/// stand at those places.
static void attendProjected(NodeImporter &node, const Tensor &all, size_t mask,
                            size_t past, size_t bias) {
  Emitter &emit = node.emitter();
  if (node.failed()) {
    return;
  }
  std::vector<int64_t> widths = widthsOf(node, all->dims[2]);
  if (node.failed()) {
    return;
  }
  AttentionNode it;
  if (widths[1] == widths[2]) {
    it.q = partOfThree(node, all, 0);
    it.k = partOfThree(node, all, 1);
    it.v = partOfThree(node, all, 2);
  } else {
    it.q = projectedHeads(node, all, 0, widths[0]);
    it.k = projectedHeads(node, all, widths[0], widths[1]);
    it.v = projectedHeads(node, all, widths[0] + widths[1], widths[2]);
  }
  if (node.hasInput(past)) {
    const rt::Dims &dims = node.input(past)->dims;
    if (dims.size() != 5 || dims[0] != 2) {
      return node.invalid("a past of shape " + formatInts(dims) +
                          ", expected keys and values in one of five dims");
    }
    it.k = behindPast(node, halfOfPast(node, past, 0), it.k);
    it.v = behindPast(node, halfOfPast(node, past, 1), it.v);
    it.offset = dims[3];
  }
  if (node.failed() || !checkHeads(node, it)) {
    return;
  }
  readRest(node, it, mask, bias);
  if (node.failed()) {
    return;
  }
  node.setResult(0, joinHeads(emit, attend(emit, it)));
  if (node.wantsOutput(1)) {
    rt::Dims one = it.k->dims;
    one.insert(one.begin(), 1);
    if (it.v->dims != it.k->dims) {
      return node.invalid("it gives keys and values of different depths as one "
                          "tensor");
    }
    node.setResult(
        1, emit.concat({emit.reshape(it.k, one), emit.reshape(it.v, one)}, 0));
  }
}

/// Whether inputs 0 and 1 are [batch, length, width] and a matrix; others are
/// refused, and so is what both operators may have and Divisi does not do.
static bool checkProjection(NodeImporter &node) {
  if (node.getInt("do_rotary") != 0) {
    node.unsupported(
        "its do_rotary is 1; export the model with RotaryEmbedding "
        "apart");
  } else if (node.input(0)->rank() != 3 || node.input(1)->rank() != 2) {
    node.invalid("an input of shape " + formatInts(node.input(0)->dims) +
                 " and weights of shape " + formatInts(node.input(1)->dims) +
                 " do not fit together");
  }
  return !node.failed();
}

static void importRuntimeAttention(NodeImporter &node) {
  if (!node.requireInputs({0, 1}) || !checkCache(node, 6, std::nullopt) ||
      !checkProjection(node)) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor all = emit.matmul(node.input(0), node.input(1), "bsk,kn->bsn");
  if (node.hasInput(2)) {
    all = emit.binary("add", all, node.input(2));
  }
  attendProjected(node, all, 3, 4, 5);
}

/// The same over a projection of integers.
static void importQAttention(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2, 3, 4}) || !checkProjection(node) ||
      !checkCache(node, 9, std::nullopt)) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor all = importScaledProduct(node, {0, 3, 6}, {1, 4, 7});
  attendProjected(node, emit.binary("add", all, node.input(2)), 5, 8, 9);
}

llvm::ArrayRef<ImporterRow> divisi::multiHeadImporters() {
  static const ImporterRow kRows[] = {
      {"com.microsoft.Attention", importRuntimeAttention},
      {"com.microsoft.MultiHeadAttention", importMultiHeadAttention},
      {"com.microsoft.QAttention", importQAttention},
  };
  return kRows;
}
