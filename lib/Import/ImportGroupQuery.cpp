//===- ImportGroupQuery.cpp - Attention over a cache, of ONNX Runtime -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GroupQueryAttention and RotaryEmbedding of com.microsoft, as language models
// for ONNX Runtime have them. A row of the batch has as many keys as seqlens_k,
// known at run time, says; the new ones are put behind those of the past:
//
//   past [p0 p1 p2 ..], new [n0], 3 keys in all  →  present [p0 p1 n0 0]
//
// Only a first prompt, all of whose keys are new, needs no such gather.
//
//===----------------------------------------------------------------------===//

#include "AttentionNode.h"

#include <cmath>

using namespace divisi;
using rt::DType;

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// The rows of table `i` at `positions`, [batch, length] or [length], with a
/// batch in front.
static Tensor rowsAt(NodeImporter &node, size_t i, const Tensor &positions) {
  Emitter &emit = node.emitter();
  Tensor rows = emit.gather(node.input(i), positions, 0, 0);
  rt::Dims dims = rows->dims;
  if (dims.size() == 2) {
    dims.insert(dims.begin(), 1);
  }
  return emit.reshape(rows, dims);
}

/// Whether inputs `cos` and `cos + 1` are tables of angles for heads of a depth
/// of `depth`; else fails.
static bool checkTables(NodeImporter &node, size_t cos, int64_t depth) {
  const rt::Dims &dims = node.input(cos)->dims;
  if (dims.size() != 2 || node.input(cos + 1)->dims != dims ||
      2 * dims[1] > depth) {
    node.invalid("tables of shapes " + formatInts(dims) + " and " +
                 formatInts(node.input(cos + 1)->dims) +
                 " do not rotate heads of a depth of " + std::to_string(depth));
  }
  return !node.failed();
}

/// `first`, one number, and those behind it: [length].
static Tensor positionsFrom(Emitter &emit, const Tensor &first,
                            int64_t length) {
  return emit.binary("add", emit.iota(DType::I64, {length}, 0),
                     emit.cast(first, DType::I64));
}

/// Positions are of each row, or one number, the first of them.
static Tensor readPositions(NodeImporter &node, size_t i, int64_t batch,
                            int64_t length) {
  const Tensor &given = node.input(i);
  if (given->dims == rt::Dims{1}) {
    return positionsFrom(node.emitter(), given, length);
  }
  node.checkDims(i, {batch, length});
  return given;
}

static void importRotaryEmbedding(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2, 3})) {
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &given = node.input(0);
  if (node.getFloat("scale", 1) != 1) {
    return node.unsupported("its scale is " +
                            std::to_string(node.getFloat("scale", 1)) +
                            ", expected 1; scale the tables instead");
  }
  const rt::Dims &table = node.input(2)->dims;
  int64_t rotated = node.getInt("rotary_embedding_dim");
  bool isFlat = given->rank() == 3;
  int64_t depth = table.empty() ? 0 : 2 * table.back();
  int64_t heads = node.getInt("num_heads");
  if (isFlat && rotated == 0) {
    heads = depth > 0 ? given->dims[2] / depth : 0;
  }
  Tensor x =
      isFlat ? splitHeads(node, given, heads, "input 0", "num_heads") : given;
  if (node.failed()) {
    return;
  }
  if (x->rank() != 4 || (rotated == 0 && x->dims[3] != depth) ||
      (rotated != 0 && rotated != depth)) {
    return node.invalid("an input of shape " + formatInts(given->dims) +
                        " and rotary_embedding_dim " + std::to_string(rotated) +
                        " do not fit tables of shape " + formatInts(table));
  }
  Tensor positions = readPositions(node, 1, x->dims[0], x->dims[2]);
  if (!checkTables(node, 2, x->dims[3])) {
    return;
  }
  Tensor result =
      rotate(emit, x, rowsAt(node, 2, positions), rowsAt(node, 3, positions), 2,
             node.getInt("interleaved") != 0);
  node.setResult(0, isFlat ? joinHeads(emit, result) : result);
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

namespace {

/// How long what is; `past` has no value where all rows are first prompts.
struct CacheLengths {
  int64_t now = 0;     ///< New keys of each row.
  int64_t before = 0;  ///< Keys that the past has room for.
  int64_t total = 0;   ///< Keys of the longest row.
  int64_t present = 0; ///< Keys that the present has room for.
  Tensor all, past;    ///< Of each row, [batch, 1, 1, 1] in i64.

  bool isFirst() const { return now == total; }
};

} // namespace

/// What the node has and Divisi does not do.
static bool checkFeatures(NodeImporter &node) {
  if (node.getInt("sliding_window_cache") != 0) {
    node.unsupported("its sliding_window_cache is 1; export the model with a "
                     "cache of all positions");
  }
  for (const char *name : {"k_quant_type", "v_quant_type"}) {
    std::string kind = node.getString(name, "NONE");
    if (kind != "NONE") {
      node.unsupported("its " + std::string(name) + " is " + kind +
                       "; export the model with a cache that is not quantized");
    }
  }
  if (node.hasInput(3) != node.hasInput(4)) {
    node.invalid("it has one of past_key and past_value, expected both or "
                 "none");
  }
  return !node.failed();
}

/// Queries, keys and values by heads, of one packed input or of three.
static bool readOperands(NodeImporter &node, AttentionNode &it) {
  int64_t heads = node.getInt("num_heads"),
          shared = node.getInt("kv_num_heads");
  Tensor q = node.input(0);
  if (node.hasInput(1) != node.hasInput(2) || heads < 1 || shared < 1) {
    node.invalid("it has num_heads " + std::to_string(heads) +
                 " and kv_num_heads " + std::to_string(shared) +
                 ", and key without value or the reverse");
    return false;
  }
  if (node.hasInput(1)) {
    it.q = splitHeads(node, q, heads, "input 0", "num_heads");
    it.k = splitHeads(node, node.input(1), shared, "input 1", "kv_num_heads");
    it.v = splitHeads(node, node.input(2), shared, "input 2", "kv_num_heads");
  } else {
    Emitter &emit = node.emitter();
    Tensor all = splitHeads(node, q, heads + 2 * shared, "input 0",
                            "num_heads + 2 * kv_num_heads");
    if (node.failed()) {
      return false;
    }
    it.q = emit.sliceAxis(all, 1, 0, heads);
    it.k = emit.sliceAxis(all, 1, heads, heads + shared);
    it.v = emit.sliceAxis(all, 1, heads + shared, heads + 2 * shared);
  }
  if (!node.failed() && checkHeads(node, it) && it.keys() != it.queries()) {
    node.unsupported("it has " + std::to_string(it.queries()) +
                     " queries and " + std::to_string(it.keys()) +
                     " keys; use MultiHeadAttention for attention to another "
                     "sequence");
  }
  return !node.failed();
}

/// Lengths from inputs 3, 5 and 6; fails where they do not fit together.
static CacheLengths readLengths(NodeImporter &node, const AttentionNode &it) {
  Emitter &emit = node.emitter();
  CacheLengths lengths;
  int64_t batch = it.q->dims[0];
  lengths.now = it.keys();
  const rt::Dims past =
      node.hasInput(3) ? node.input(3)->dims : rt::Dims{0, 0, 0, 0};
  auto total = node.constantInts(6);
  if (!total) {
    return lengths;
  }
  if (past.size() != 4 || total->size() != 1 ||
      node.input(5)->count() != batch) {
    node.invalid("a past of shape " + formatInts(past) + ", " +
                 std::to_string(total->size()) +
                 " numbers of total_sequence_length and seqlens_k of shape " +
                 formatInts(node.input(5)->dims) + " do not fit a batch of " +
                 std::to_string(batch));
    return lengths;
  }
  lengths.before = past[2];
  lengths.total = total->front();
  bool grows = lengths.total == lengths.before + lengths.now;
  if (lengths.total < lengths.now ||
      (!grows && lengths.total > lengths.before)) {
    node.invalid("total_sequence_length is " + std::to_string(lengths.total) +
                 ", expected the sum of " + std::to_string(lengths.before) +
                 " past and " + std::to_string(lengths.now) +
                 " new keys, or at most what the past has room for");
    return lengths;
  }
  lengths.present = std::max(lengths.total, lengths.before);
  Tensor last =
      emit.reshape(emit.cast(node.input(5), DType::I64), {batch, 1, 1, 1});
  lengths.all = emit.binary("add", last, emit.scalar(DType::I64, 1));
  lengths.past =
      emit.binary("sub", lengths.all,
                  emit.scalar(DType::I64, static_cast<double>(lengths.now)));
  return lengths;
}

/// Whether all rows are known to be as long as the longest.
static bool isWhole(Emitter &emit, const CacheLengths &lengths) {
  auto known =
      lengths.all->isFoldable() ? emit.bytesOf(lengths.all) : std::nullopt;
  bool result = known.has_value();
  for (int64_t i = 0; known && i < known->count(); ++i) {
    result &= known->intAt(i) == lengths.total;
  }
  return result;
}

/// `past`, a state, with `now` behind what each row has. What lies behind that
/// stays, as in ONNX Runtime where past and present share their memory; nobody
/// sees it.
static Tensor writeRows(Emitter &emit, const Tensor &past, const Tensor &now,
                        const CacheLengths &lengths) {
  rt::Dims rows = {now->dims[0], now->dims[1], now->dims[2]};
  if (rows[0] == 1) {
    return emit.insert(past, now, emit.reshape(lengths.past, {}), 2);
  }
  Tensor at = emit.binary("add", emit.reshape(lengths.past, {rows[0], 1, 1}),
                          emit.iota(DType::I64, {1, 1, rows[2]}, 2));
  return emit.emit("scatter", {past, emit.expand(at, rows), now},
                   {{"batch_dims", int64_t{2}}, {"kind", std::string("set")}},
                   past->type, past->dims);
}

/// Input `i`, a past of [batch, heads, length, depth], with `now` where each
/// row's own past ends, and zeros behind.
static Tensor intoCache(NodeImporter &node, size_t i, const Tensor &now,
                        const CacheLengths &lengths) {
  Emitter &emit = node.emitter();
  if (lengths.isFirst()) {
    return emit.pad(now, {0, 0, 0, 0}, {0, 0, lengths.present - lengths.now, 0},
                    0);
  }
  if (emit.isState(node.input(i)) && lengths.present == lengths.before) {
    return writeRows(emit, node.input(i), now, lengths);
  }
  Tensor both = behindPast(node, node.input(i), now);
  bool grows = lengths.present == lengths.before + lengths.now;
  if (node.failed() || (grows && isWhole(emit, lengths))) {
    return both;
  }
  auto number = [&](int64_t value) {
    return emit.scalar(DType::I64, static_cast<double>(value));
  };
  rt::Dims rows = {now->dims[0], 1};
  Tensor past = emit.reshape(lengths.past, rows);
  Tensor key = emit.iota(DType::I64, {1, lengths.present}, 1);
  Tensor behind =
      emit.binary("add", emit.binary("sub", key, past), number(lengths.before));
  behind = emit.binary("min", behind, number(both->dims[2] - 1));
  Tensor from = emit.select(emit.compare("lt", key, past), key, behind);
  Tensor result = emit.gather(both, from, 2, 1);
  Tensor isThere = emit.compare("lt", key, emit.reshape(lengths.all, rows));
  return emit.select(
      emit.reshape(isThere, {now->dims[0], 1, lengths.present, 1}), result,
      emit.scalar(now->type, 0));
}

/// Queries and keys, normalized if the node has weights for it, and rotated.
static void placeHeads(NodeImporter &node, AttentionNode &it,
                       const CacheLengths &lengths) {
  Emitter &emit = node.emitter();
  auto normalize = [&](Tensor &x, size_t i) {
    if (node.hasInput(i) && node.checkDims(i, {x->dims[3]})) {
      x = emit.binary("mul",
                      emitNormalize(emit, x, {3}, /*center=*/false,
                                    node.getFloat("qk_norm_epsilon", 1e-6)),
                      node.input(i));
    }
  };
  normalize(it.q, 14);
  normalize(it.k, 15);
  if (node.getInt("do_rotary") == 0 || !node.requireInputs({7, 8}) ||
      !checkTables(node, 7, it.q->dims[3])) {
    return;
  }
  int64_t batch = it.q->dims[0];
  Tensor positions;
  if (lengths.isFirst()) {
    // Of given positions ONNX Runtime reads the first alone.
    Tensor first = emit.ints({0});
    if (node.hasInput(9) && node.input(9)->count() > 0) {
      first = emit.reshape(node.input(9), {node.input(9)->count()});
      first = emit.sliceAxis(first, 0, 0, 1);
    }
    positions = positionsFrom(emit, first, lengths.now);
  } else if (node.hasInput(9)) {
    node.checkDims(9, {batch, lengths.now});
    positions = node.input(9);
  } else {
    positions = emit.binary("add", emit.iota(DType::I64, {1, lengths.now}, 1),
                            emit.reshape(lengths.past, {batch, 1}));
  }
  if (node.failed()) {
    return;
  }
  Tensor cos = rowsAt(node, 7, positions), sin = rowsAt(node, 8, positions);
  bool interleaved = node.getInt("rotary_interleaved") != 0;
  it.q = rotate(emit, it.q, cos, sin, 2, interleaved);
  it.k = rotate(emit, it.k, cos, sin, 2, interleaved);
}

/// Bounds, the same for all rows where that can be known, and the bias.
static void readMask(NodeImporter &node, AttentionNode &it,
                     const CacheLengths &lengths) {
  Emitter &emit = node.emitter();
  int64_t window = node.getInt("local_window_size", -1);
  bool isCausal = node.getInt("causal", 1) != 0;
  it.right = isCausal ? 0 : -1;
  it.left = isCausal && window > 0 ? window - 1 : -1;
  if (node.hasInput(10)) {
    const Tensor &bias = node.input(10);
    if (bias->rank() != 4 || bias->dims[3] != lengths.total) {
      return node.invalid("an attention_bias of shape " +
                          formatInts(bias->dims) + " does not fit " +
                          std::to_string(lengths.total) + " keys");
    }
    it.mask =
        emit.pad(bias, {0, 0, 0, 0}, {0, 0, 0, it.keys() - lengths.total}, 0);
  }
  bool isKnown = isWhole(emit, lengths);
  if (isCausal && (lengths.isFirst() || isKnown)) {
    // What pads a prompt behind its end sees itself, and nobody sees it.
    it.offset = lengths.total - lengths.now;
    return;
  }
  if (!isCausal && isKnown && it.keys() == lengths.total) {
    return;
  }
  Tensor allowed = isCausal ? withinBounds(emit, it, lengths.past)
                            : keysBefore(emit, it, lengths.all);
  it.mask = restrict(emit, it.mask, allowed, it.q->type);
  it.left = it.right = -1;
}

/// A key more, whose product is the sink's value and whose value is 0: its
/// weight is what the others lack.
static void addSink(NodeImporter &node, AttentionNode &it) {
  Emitter &emit = node.emitter();
  DType type = it.q->type;
  Tensor sink = emit.scalar(type, 0);
  if (node.hasInput(11)) {
    int64_t heads = it.q->dims[1];
    if (!node.checkDims(11, {heads})) {
      return;
    }
    sink = emit.reshape(node.input(11), {1, heads, 1, 1});
  }
  Tensor allowed = withinBounds(
      emit, it, emit.reshape(emit.ints({it.offset}), {1, 1, 1, 1}));
  Tensor mask = allowed ? restrict(emit, it.mask, allowed, type) : it.mask;
  if (!mask) {
    mask = emit.expand(emit.scalar(type, 0), {1, 1, 1, it.keys()});
  } else if (mask->type == DType::Bool) {
    mask = emit.select(mask, emit.scalar(type, 0),
                       emit.scalar(type, kMinusInfinity));
  }
  rt::Dims dims = mask->dims;
  dims[1] = std::max(dims[1], sink->rank() == 4 ? sink->dims[1] : 1);
  mask = emit.expand(mask, dims);
  dims[3] = 1;
  it.mask = emit.concat({mask, emit.expand(sink, dims)}, 3);
  it.k = emit.pad(it.k, {0, 0, 0, 0}, {0, 0, 1, 0}, 0);
  it.v = emit.pad(it.v, {0, 0, 0, 0}, {0, 0, 1, 0}, 0);
  it.left = it.right = -1;
  it.offset = 0;
}

static void importGroupQueryAttention(NodeImporter &node) {
  AttentionNode it;
  if (!node.requireInputs({0, 5, 6}) || !checkFeatures(node) ||
      !readOperands(node, it)) {
    return;
  }
  CacheLengths lengths = readLengths(node, it);
  if (node.failed()) {
    return;
  }
  placeHeads(node, it, lengths);
  if (node.failed()) {
    return;
  }
  it.k = intoCache(node, 3, it.k, lengths);
  it.v = intoCache(node, 4, it.v, lengths);
  node.setResult(1, it.k);
  node.setResult(2, it.v);
  double scale = node.getFloat("scale");
  it.scale = scale != 0 ? scale : 1 / std::sqrt(double(it.q->dims[3]));
  it.softcap = node.getFloat("softcap");
  if (!node.failed()) {
    readMask(node, it, lengths);
  }
  if (!node.failed() &&
      (node.hasInput(11) || node.getInt("smooth_softmax") == 1)) {
    addSink(node, it);
  }
  if (!node.failed()) {
    node.setResult(0, joinHeads(node.emitter(), attend(node.emitter(), it)));
  }
}

llvm::ArrayRef<ImporterRow> divisi::groupQueryImporters() {
  static const ImporterRow kRows[] = {
      {"com.microsoft.GroupQueryAttention", importGroupQueryAttention},
      {"com.microsoft.RotaryEmbedding", importRotaryEmbedding},
  };
  return kRows;
}
