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

#include "NodeImporter.h"

#include <cmath>
#include <limits>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

static constexpr double kMinusInfinity =
    -std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

/// A node's operands, by heads, and who attends what.
struct AttentionNode {
  Tensor q, k, v; ///< Four dims; k and v with what is past.
  Tensor mask;    ///< Four dims, or null.
  double scale = 1, softcap = 0;
  int64_t left = -1, right = -1, offset = 0;

  int64_t queries() const { return q->dims[2]; }
  int64_t keys() const { return k->dims[2]; }
};

} // namespace

/// Input `i` as [batch, heads, length, depth], whichever form it has.
static Tensor byHeads(NodeImporter &node, size_t i, const char *attribute) {
  const Tensor &x = node.input(i);
  if (x->rank() == 4) {
    return x;
  }
  int64_t heads = node.getInt(attribute);
  if (x->rank() != 3 || heads < 1 || x->dims[2] % heads != 0) {
    node.invalid("input " + std::to_string(i) + " of shape " +
                 formatInts(x->dims) + " and " + attribute + " " +
                 std::to_string(heads) + " do not fit together");
    return x;
  }
  Emitter &emit = node.emitter();
  Tensor apart =
      emit.reshape(x, {x->dims[0], x->dims[1], heads, x->dims[2] / heads});
  return emit.transpose(apart, {0, 2, 1, 3});
}

/// `now` behind input `i`, if there is one.
static Tensor behindPast(NodeImporter &node, size_t i, const Tensor &now) {
  if (!node.hasInput(i) || node.failed()) {
    return now;
  }
  const Tensor &past = node.input(i);
  rt::Dims expected = now->dims;
  if (past->rank() == 4) {
    expected[2] = past->dims[2];
  }
  if (past->dims != expected || past->type != now->type) {
    node.invalid("a past of shape " + formatInts(past->dims) +
                 " does not fit one of " + formatInts(now->dims));
    return now;
  }
  return node.emitter().concat({past, now}, 2);
}

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

/// Only what `allowed`, booleans, holds.
static Tensor restrict(Emitter &emit, const Tensor &mask, const Tensor &allowed,
                       DType type) {
  if (!mask) {
    return allowed;
  }
  if (mask->type == DType::Bool) {
    return emit.binary("and", mask, allowed);
  }
  return emit.select(allowed, mask, emit.scalar(type, kMinusInfinity));
}

/// Which keys the bounds allow, seen from `offset`, numbers that broadcast to
/// [batch, 1, queries, 1]; null if they allow all.
static Tensor withinBounds(Emitter &emit, const AttentionNode &it,
                           const Tensor &offset) {
  Tensor key = emit.iota(DType::I64, {1, 1, 1, it.keys()}, 3);
  Tensor position = emit.binary(
      "add", emit.iota(DType::I64, {1, 1, it.queries(), 1}, 2), offset);
  auto shifted = [&](int64_t by) {
    return emit.binary("add", position,
                       emit.reshape(emit.ints({by}), {1, 1, 1, 1}));
  };
  Tensor allowed;
  if (it.right >= 0) {
    allowed = emit.compare("le", key, shifted(it.right));
  }
  if (it.left >= 0) {
    Tensor behind = emit.compare("ge", key, shifted(-it.left));
    allowed = allowed ? emit.binary("and", allowed, behind) : behind;
  }
  return allowed;
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
  Tensor key = emit.iota(DType::I64, {1, 1, 1, it.keys()}, 3);
  it.mask =
      restrict(emit, it.mask, emit.compare("lt", key, length), it.q->type);
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
  it.k = behindPast(node, 4, byHeads(node, 1, "kv_num_heads"));
  it.v = behindPast(node, 5, byHeads(node, 2, "kv_num_heads"));
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
  bool fits = it.k->rank() == 4 && it.v->rank() == 4 &&
              it.q->dims[0] == it.k->dims[0] && depth == it.k->dims[3] &&
              it.k->dims[1] > 0 && it.q->dims[1] % it.k->dims[1] == 0 &&
              std::equal(it.k->dims.begin(), it.k->dims.begin() + 3,
                         it.v->dims.begin());
  if (!fits) {
    node.invalid("queries " + formatInts(it.q->dims) + ", keys " +
                 formatInts(it.k->dims) + " and values " +
                 formatInts(it.v->dims) + " do not fit together");
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
  std::vector<Tensor> operands = {it.q, it.k, it.v};
  if (it.mask) {
    operands.push_back(it.mask);
  }
  const rt::Dims &q = it.q->dims;
  rt::Dims dims = {q[0], q[1], q[2], it.v->dims[3]};
  Tensor result = emit.emit("attention", operands,
                            {{"scale", it.scale},
                             {"softcap", it.softcap},
                             {"left", it.left},
                             {"right", it.right},
                             {"offset", it.offset}},
                            it.q->type, dims);
  if (node.input(0)->rank() == 3) {
    result = emit.reshape(emit.transpose(result, {0, 2, 1, 3}),
                          {dims[0], dims[2], dims[1] * dims[3]});
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
  rt::Dims dims = expected;
  dims.insert(dims.begin() + (isFlat ? 2 : 1), 1);
  Tensor result = emit.emit(
      "rotary", {x, emit.reshape(cos, dims), emit.reshape(sin, dims)},
      {{"interleaved", node.getInt("interleaved")}}, x->type, x->dims);
  node.setResult(0, emit.reshape(result, given->dims));
}

llvm::ArrayRef<ImporterRow> divisi::attentionImporters() {
  static const ImporterRow kRows[] = {
      {"Attention", importAttention},
      {"RotaryEmbedding", importRotaryEmbedding},
  };
  return kRows;
}
