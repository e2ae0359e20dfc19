//===- ImportAttention.cpp - Attention and rotary embeddings --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a query attends is said by bounds of positions, which nn.attention has,
// where all batches have the same; else by a mask. Nothing is rounded between
// the products and the result, so softmax_precision is met by any value.
//
//===----------------------------------------------------------------------===//

#include "AttentionNode.h"

#include <cmath>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

/// Input `i` as [batch, heads, length, depth], whichever form it has.
static Tensor byHeads(NodeImporter &node, size_t i, const char *attribute) {
  const Tensor &x = node.input(i);
  return x->rank() == 4 ? x
                        : splitHeads(node, x, node.getInt(attribute),
                                     "input " + std::to_string(i), attribute);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The node's mask with four dims and one entry for each key.
static Tensor readMask(NodeImporter &node, const AttentionNode &it) {
  Emitter &emit = node.emitter();
  Tensor mask = node.input(3);
  if (mask->rank() < 1 || mask->rank() > 4 ||
      (mask->dims.back() > it.keys() && mask->dims.back() != 1)) {
    node.invalid("a mask of shape " + formatInts(mask->dims) +
                 " does not fit " + std::to_string(it.keys()) + " keys");
    return mask;
  }
  if (mask->type != DType::Bool) {
    mask = emit.cast(mask, it.q->type);
  }
  bool isShort = mask->dims.back() < it.keys() && mask->dims.back() != 1;
  if (isShort) {
    Ints lo(mask->dims.size(), 0), hi = lo;
    hi.back() = it.keys() - mask->dims.back();
    mask =
        emit.pad(mask, lo, hi, mask->type == DType::Bool ? 0 : kMinusInfinity);
  }
  rt::Dims dims = mask->dims;
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  return emit.reshape(mask, dims);
}

/// Where batches have different numbers of keys, bounds are by batch, too.
static void maskPadding(NodeImporter &node, AttentionNode &it) {
  Emitter &emit = node.emitter();
  const Tensor &lengths = node.input(6);
  if (lengths->dims != rt::Dims{it.q->dims[0]}) {
    return node.invalid("nonpad_kv_seqlen has shape " +
                        formatInts(lengths->dims) + ", expected one number " +
                        "for each of " + std::to_string(it.q->dims[0]) +
                        " batches");
  }
  Tensor length =
      emit.reshape(emit.cast(lengths, DType::I64), {it.q->dims[0], 1, 1, 1});
  it.mask = restrict(emit, it.mask, keysBefore(emit, it, length), it.q->type);
  Tensor offset = emit.binary(
      "sub", length, emit.reshape(emit.ints({it.queries()}), {1, 1, 1, 1}));
  if (Tensor allowed = withinBounds(emit, it, offset)) {
    it.mask = restrict(emit, it.mask, allowed, it.q->type);
  }
  it.left = it.right = -1;
}

static AttentionNode readAttention(NodeImporter &node) {
  AttentionNode it;
  it.q = byHeads(node, 0, "q_num_heads");
  it.k = byHeads(node, 1, "kv_num_heads");
  it.v = byHeads(node, 2, "kv_num_heads");
  if (node.hasInput(4) && !node.failed()) {
    it.k = behindPast(node, node.input(4), it.k);
  }
  if (node.hasInput(5) && !node.failed()) {
    it.v = behindPast(node, node.input(5), it.v);
  }
  if (node.failed()) {
    return it;
  }
  int64_t depth = it.q->dims[3];
  it.scale = node.getFloat("scale", 1 / std::sqrt(double(depth)));
  it.softcap = node.getFloat("softcap");
  it.left = node.getInt("left_window_size", -1);
  it.right = node.getInt("right_window_size", -1);
  if (node.getInt("is_causal") != 0) {
    it.right = 0;
  }
  it.offset = node.hasInput(4) ? node.input(4)->dims[2] : 0;
  if (!checkHeads(node, it)) {
    return it;
  }
  if (node.hasInput(3)) {
    it.mask = readMask(node, it);
  }
  if (!node.failed() && node.hasInput(6)) {
    maskPadding(node, it);
  }
  return it;
}

/// All that is added to the products, and broadcasts to them; null for none.
static Tensor allBias(Emitter &emit, const AttentionNode &it) {
  Tensor offset = emit.reshape(emit.ints({it.offset}), {1, 1, 1, 1});
  Tensor allowed = withinBounds(emit, it, offset), mask = it.mask;
  if (allowed) {
    mask = restrict(emit, mask, allowed, it.q->type);
  }
  if (mask && mask->type == DType::Bool) {
    mask = emit.select(mask, emit.scalar(it.q->type, 0),
                       emit.scalar(it.q->type, kMinusInfinity));
  }
  return mask;
}

/// Output 3: the products, or what has become of them at a later point.
static Tensor products(NodeImporter &node, const AttentionNode &it) {
  Emitter &emit = node.emitter();
  const rt::Dims &q = it.q->dims;
  int64_t shared = it.k->dims[1], mode = node.getInt("qk_matmul_output_mode");
  Tensor grouped =
      emit.reshape(it.q, {q[0], shared, q[1] / shared, q[2], q[3]});
  Tensor result = emit.reshape(emit.matmul(grouped, it.k, "bhgsd,bhtd->bhgst"),
                               {q[0], q[1], q[2], it.keys()});
  result = emit.binary("mul", result, emit.scalar(it.q->type, it.scale));
  if (it.softcap > 0 && mode > 0) {
    Tensor cap = emit.scalar(it.q->type, it.softcap);
    result = emit.binary(
        "mul", emit.unary("tanh", emit.binary("div", result, cap)), cap);
  }
  Tensor bias = mode >= 2 ? allBias(emit, it) : nullptr;
  if (bias) {
    result = emit.binary("add", result, bias);
  }
  if (mode != 3) {
    return result;
  }
  result = emit.emit("softmax", {result},
                     {{"axis", int64_t{3}}, {"log", int64_t{0}}}, result->type,
                     result->dims);
  if (bias) {
    Tensor best = emit.reduce("max", bias, {3}, /*keepDims=*/true);
    Tensor none =
        emit.compare("eq", best, emit.scalar(it.q->type, kMinusInfinity));
    result = emit.select(none, emit.scalar(it.q->type, 0), result);
  }
  return result;
}

static void importAttention(NodeImporter &node) {
  Emitter &emit = node.emitter();
  AttentionNode it = readAttention(node);
  if (node.failed()) {
    return;
  }
  Tensor result = attend(emit, it);
  if (node.input(0)->rank() == 3) {
    result = joinHeads(emit, result);
  }
  node.setResult(0, result);
  node.setResult(1, it.k);
  node.setResult(2, it.v);
  if (node.wantsOutput(3)) {
    node.setResult(3, products(node, it));
  }
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Input `i`, sines or cosines, as [batch, length, angles].
static Tensor anglesOf(NodeImporter &node, size_t i) {
  const Tensor &table = node.input(i);
  if (!node.hasInput(3)) {
    return table;
  }
  return node.emitter().gather(table, node.input(3), 0, 0);
}

static void importRotaryEmbedding(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &given = node.input(0);
  bool isFlat = given->rank() == 3;
  int64_t heads = isFlat ? node.getInt("num_heads") : 0;
  if ((!isFlat && given->rank() != 4) ||
      (isFlat && (heads < 1 || given->dims[2] % heads != 0))) {
    return node.invalid("an input of shape " + formatInts(given->dims) +
                        " and num_heads " + std::to_string(heads) +
                        " do not fit together");
  }
  Tensor x = isFlat ? emit.reshape(given, {given->dims[0], given->dims[1],
                                           heads, given->dims[2] / heads})
                    : given;
  int64_t depth = x->dims[3];
  int64_t rotated = node.getInt("rotary_embedding_dim");
  rotated = rotated == 0 ? depth : rotated;
  int64_t length = given->dims[isFlat ? 1 : 2];
  Tensor cos = anglesOf(node, 1), sin = anglesOf(node, 2);
  if (node.failed()) {
    return;
  }
  // Exporters also write tables that all batches share.
  bool isShared = cos->rank() == 3 && cos->dims[0] == 1;
  rt::Dims expected = {isShared ? 1 : x->dims[0], length, rotated / 2};
  if (cos->dims != expected || sin->dims != expected || rotated > depth) {
    return node.invalid("tables of shapes " + formatInts(node.input(1)->dims) +
                        " and " + formatInts(node.input(2)->dims) +
                        " do not fit an input of shape " +
                        formatInts(given->dims) + ", of which " +
                        std::to_string(rotated) + " features are rotated");
  }
  Tensor result = rotate(emit, x, cos, sin, isFlat ? 1 : 2,
                         node.getInt("interleaved") != 0);
  node.setResult(0, emit.reshape(result, given->dims));
}

llvm::ArrayRef<ImporterRow> divisi::attentionImporters() {
  static const ImporterRow kRows[] = {
      {"Attention", importAttention},
      {"RotaryEmbedding", importRotaryEmbedding},
  };
  return kRows;
}
