//===- FuseAttention.cpp - Recognise attention that is written out --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write attention as its products and what lies between them:
//
//   matmul(softmax(add(mul(matmul(q, k), c), mask)), v)  →  attention q, k, v
//
// The letters of both products say what a dimension is: one of a batch, if all
// of q, k, v and y have it, of queries (q and y), keys (k and v), depth (q and
// k), or features (v and y). One operator never has all of its products in
// memory.
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Codes.h"
#include "passes/Import/Passes.h"
#include "passes/Import/WrittenAttention.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Labels.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace divisi {
#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/Import/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

namespace {

/// What the letters are.
struct Classes {
  std::string batch, queries, keys, depth, features;
};

/// Letters for each of the four dimensions of an attention's tensor.
using Groups = std::array<std::string, 4>;

} // namespace

//===----------------------------------------------------------------------===//
// Letters
//===----------------------------------------------------------------------===//

/// What the letters are; nothing if that is no attention.
static std::optional<Classes> classify(const WrittenAttention &written) {
  StringRef q = written.q.letters, k = written.k.letters;
  StringRef v = written.v.letters, y = written.y.letters;
  StringRef scores = written.scores;
  char keys = scores.back();
  Classes classes;
  classes.keys = keys;
  bool fits = k.contains(keys) && !q.contains(keys) && v.contains(keys) &&
              !y.contains(keys);
  for (char letter : scores.drop_back()) {
    bool isShared = k.contains(letter);
    fits &= q.contains(letter) && isShared == v.contains(letter) &&
            y.contains(letter);
    (isShared ? classes.batch : classes.queries) += letter;
  }
  for (char letter : q) {
    if (!scores.contains(letter)) {
      classes.depth += letter;
    }
  }
  for (char letter : k) {
    fits &= letter == keys || q.contains(letter);
  }
  for (char letter : v) {
    if (!scores.contains(letter)) {
      fits &= y.contains(letter);
      classes.features += letter;
    }
  }
  fits &= !classes.depth.empty() && !classes.features.empty();
  return fits ? std::optional(classes) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Four dimensions
//===----------------------------------------------------------------------===//

static std::string join(const Groups &groups) {
  return groups[0] + groups[1] + groups[2] + groups[3];
}

/// Of each dimension of `to` the place in `from`.
static SmallVector<int64_t> permutationOf(StringRef from, StringRef to) {
  return llvm::map_to_vector(
      to, [&](char letter) { return int64_t(from.find(letter)); });
}

/// In which order `letters` has the groups, if it has each in one piece, its
/// letters as they are, and the last group last. Empty ones come first.
static std::optional<SmallVector<size_t>> orderOf(StringRef letters,
                                                  const Groups &groups) {
  SmallVector<size_t> order;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].empty()) {
      order.push_back(i);
    }
  }
  while (!letters.empty()) {
    const auto *group = llvm::find_if(groups, [&](const std::string &group) {
      return !group.empty() && letters.consume_front(group);
    });
    if (group == groups.end()) {
      return std::nullopt;
    }
    order.push_back(group - groups.begin());
  }
  return order.back() == groups.size() - 1 ? std::optional(order)
                                           : std::nullopt;
}

/// The extents of `shape`, whose dimensions are `letters`, by groups.
static SmallVector<int64_t> grouped(ArrayRef<int64_t> shape, StringRef letters,
                                    const Groups &groups,
                                    ArrayRef<size_t> order) {
  SmallVector<int64_t> extents;
  for (size_t i : order) {
    extents.push_back(1);
    for (char letter : groups[i]) {
      extents.back() *= shape[letters.find(letter)];
    }
  }
  return extents;
}

static constexpr size_t kSorted[] = {0, 1, 2, 3};

static Value reshaped(OpBuilder &builder, Value x, ArrayRef<int64_t> shape) {
  return typeOf(x).getShape() == shape
             ? x
             : nn::ReshapeOp::create(builder, x.getLoc(), x, shape);
}

static Value transposed(OpBuilder &builder, Value x,
                        ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation)
             ? x
             : nn::TransposeOp::create(builder, x.getLoc(), x, permutation);
}

/// Letters of an attention's tensor in that order.
static std::string ordered(StringRef sorted, ArrayRef<size_t> order) {
  std::string letters;
  for (size_t i : order) {
    letters += sorted[i];
  }
  return letters;
}

/// Tensor `i` of an attention with the groups as its dimensions, where they
/// lie if they can stay there; tells `labels`.
static Value toFour(OpBuilder &builder, size_t i, const Lettered &x,
                    const Groups &groups, nn::AttentionLabels &labels) {
  std::optional<SmallVector<size_t>> kept = orderOf(x.letters, groups);
  ArrayRef<size_t> order = kept ? ArrayRef<size_t>(*kept) : kSorted;
  auto extents = grouped(typeOf(x.value).getShape(), x.letters, groups, order);
  labels.tensors[i] = ordered(nn::AttentionLabels::sorted[i], order);
  Value value = kept ? x.value
                     : transposed(builder, x.value,
                                  permutationOf(x.letters, join(groups)));
  return reshaped(builder, value, extents);
}

/// The result `y` of an attention in the dimensions of what it replaces.
static Value fromFour(OpBuilder &builder, Value y, const Lettered &replaced,
                      const Groups &groups) {
  if (orderOf(replaced.letters, groups)) {
    return reshaped(builder, y, typeOf(replaced.value).getShape());
  }
  std::string letters = join(groups);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutationOf(replaced.letters, letters)) {
    shape.push_back(typeOf(replaced.value).getShape()[dim]);
  }
  return transposed(builder, reshaped(builder, y, shape),
                    permutationOf(letters, replaced.letters));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {

/// What repeated heads are repetitions of.
struct Unrepeated {
  Value value;                ///< With a dimension of extent 1 behind heads.
  SmallVector<int64_t> shape; ///< Without it.
};

} // namespace

/// What `x` has each of its heads several times of, one behind the other;
/// nothing if it does not.
static std::optional<Unrepeated> unrepeated(const Lettered &x, char head) {
  auto merge = x.value.getDefiningOp<nn::ReshapeOp>();
  auto repeat =
      merge ? merge.getX().getDefiningOp<nn::BroadcastOp>() : nullptr;
  size_t rank = x.letters.size(), times = x.letters.find(head) + 1;
  if (!repeat || typeOf(repeat.getX()).getRank() != int64_t(rank + 1) ||
      typeOf(repeat).getRank() != int64_t(rank + 1)) {
    return std::nullopt;
  }
  SmallVector<int64_t> from(typeOf(repeat.getX()).getShape());
  SmallVector<int64_t> to(typeOf(repeat).getShape());
  SmallVector<int64_t> dims(repeat.getDims()), merged(to);
  merged[times - 1] *= merged[times];
  merged.erase(merged.begin() + times);
  bool isOne = from[times] == 1;
  from[times] = to[times];
  if (!isOne || from != to || !llvm::is_sorted(dims) ||
      ArrayRef<int64_t>(merged) != typeOf(x.value).getShape()) {
    return std::nullopt;
  }
  from.erase(from.begin() + times);
  return Unrepeated{repeat.getX(), from};
}

/// Takes keys and values as they are before their heads are repeated for those
/// of queries.
static void groupHeads(OpBuilder &builder, char head,
                       WrittenAttention &written) {
  auto k = unrepeated(written.k, head), v = unrepeated(written.v, head);
  size_t ofKeys = written.k.letters.find(head);
  size_t ofValues = written.v.letters.find(head);
  if (k && v && k->shape[ofKeys] == v->shape[ofValues]) {
    written.k.value = reshaped(builder, k->value, k->shape);
    written.v.value = reshaped(builder, v->value, v->shape);
  }
}

//===----------------------------------------------------------------------===//
// The mask
//===----------------------------------------------------------------------===//

/// The shape of what broadcasts to `rank` dimensions, with all of them.
static SmallVector<int64_t> padded(Value x, size_t rank) {
  ArrayRef<int64_t> shape = typeOf(x).getShape();
  SmallVector<int64_t> extents(rank - shape.size(), 1);
  llvm::append_range(extents, shape);
  return extents;
}

/// `mask`, which broadcasts to the products, by groups: each dimension is whole
/// or 1.
static Value maskFor(OpBuilder &builder, Value mask,
                     const WrittenAttention &written, const Groups &groups,
                     ArrayRef<int64_t> scores) {
  StringRef letters = written.scores;
  SmallVector<int64_t> given = padded(mask, letters.size()), wanted = given;
  SmallVector<int64_t> extents;
  for (const std::string &group : groups) {
    auto places = permutationOf(letters, group);
    bool repeats =
        llvm::all_of(places, [&](int64_t i) { return given[i] == 1; });
    extents.push_back(1);
    for (int64_t i : places) {
      wanted[i] = repeats ? 1 : scores[i];
      extents.back() *= wanted[i];
    }
  }
  Value x = reshaped(builder, mask, given);
  if (wanted != given) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, letters.size()));
    x = nn::BroadcastOp::create(builder, x.getLoc(), x, wanted, dims);
  }
  x = transposed(builder, x, permutationOf(letters, join(groups)));
  return reshaped(builder, x, extents);
}

/// Splits the letters of queries into those that heads get, for which the mask
/// is one, and positions.
static std::pair<std::string, std::string>
splitQueries(const WrittenAttention &written, StringRef queries) {
  size_t first = queries.size();
  for (size_t i = 0; i < queries.size(); ++i) {
    size_t dim = written.scores.find(queries[i]);
    bool differs = llvm::any_of(written.masks, [&](const WrittenMask &mask) {
      return mask.value &&
             padded(mask.value, written.scores.size())[dim] != 1;
    });
    first = differs ? std::min(first, i) : first;
  }
  // At least one is of positions.
  first = std::min(first, queries.empty() ? 0 : queries.size() - 1);
  return {queries.take_front(first).str(), queries.drop_front(first).str()};
}

/// Multiplies queries by what their products would be multiplied by.
static void scaleRows(OpBuilder &builder, WrittenAttention &written) {
  StringRef scores = written.scores;
  for (Value by : written.rows) {
    SmallVector<int64_t> given = padded(by, scores.size());
    SmallVector<int64_t> permutation, shape;
    bool isOrdered = true;
    for (char letter : written.q.letters) {
      // Keys, of which there is one, do for the depth.
      size_t dim = std::min(scores.find(letter), scores.size() - 1);
      shape.push_back(given[dim]);
      if (!scores.contains(letter)) {
        continue;
      }
      isOrdered &=
          given[dim] == 1 || llvm::all_of(permutation, [&](int64_t before) {
            return given[before] == 1 || before < int64_t(dim);
          });
      permutation.push_back(int64_t(dim));
    }
    Value rows = by;
    if (!isOrdered) {
      rows = reshaped(builder, by, ArrayRef<int64_t>(given).drop_back());
      rows = transposed(builder, rows, permutation);
    }
    written.q.value = nn::MulOp::create(builder, by.getLoc(), written.q.value,
                                        reshaped(builder, rows, shape));
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static LogicalResult fuseAttention(nn::MatmulOp op,
                                   const nn::KnownValues &known,
                                   PatternRewriter &rewriter) {
  std::optional<WrittenAttention> written = matchAttention(op, /*isLeft=*/true);
  if (!written) {
    written = matchAttention(op, /*isLeft=*/false);
  }
  std::optional<Classes> classes = written ? classify(*written) : std::nullopt;
  if (!classes) {
    return rewriter.notifyMatchFailure(op, "weighs nothing by a softmax of "
                                           "products");
  }
  // Products of packed weights are faster than keys and values.
  if (known.isKnown(written->k.value) && known.isKnown(written->v.value)) {
    return rewriter.notifyMatchFailure(op, "has weights for keys and values");
  }
  StringRef batch = classes->batch;
  auto [group, queries] = splitQueries(*written, classes->queries);
  // Beside groups, the only thing that keys have too is a batch, no heads.
  bool hasHeads = group.empty() || batch.size() > 1;
  std::string head = batch.take_back(hasHeads ? 1 : 0).str();
  std::string outer = batch.drop_back(head.size()).str();
  Groups q = {outer, head + group, queries, classes->depth};
  Groups k = {outer, head, classes->keys, classes->depth};
  Groups v = {outer, head, classes->keys, classes->features};
  Groups y = {outer, head + group, queries, classes->features};

  Value mask = joinMasks(rewriter, op.getLoc(), *written);
  if (mask) {
    SmallVector<int64_t> scores;
    for (char letter : written->scores) {
      const Lettered &from = StringRef(written->q.letters).contains(letter)
                                 ? written->q
                                 : written->k;
      scores.push_back(
          typeOf(from.value).getShape()[from.letters.find(letter)]);
    }
    mask = maskFor(rewriter, mask, *written,
                   {outer, head + group, queries, classes->keys}, scores);
  }
  nn::AttentionLabels labels;
  scaleRows(rewriter, *written);
  if (!head.empty()) {
    groupHeads(rewriter, head.front(), *written);
  }
  Value queried = toFour(rewriter, 0, written->q, q, labels);
  Value keys = toFour(rewriter, 1, written->k, k, labels);
  Value values = toFour(rewriter, 2, written->v, v, labels);
  std::optional<SmallVector<size_t>> order = orderOf(written->y.letters, y);
  labels.tensors[3] = ordered(nn::AttentionLabels::sorted[3],
                              order ? ArrayRef<size_t>(*order) : kSorted);
  auto attention = nn::AttentionOp::create(
      rewriter, op.getLoc(), queried, keys, values, mask, written->scale,
      written->softcap, /*left=*/-1, /*right=*/-1, /*offset=*/0, labels.str(),
      written->makesNan);
  attention->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOp(written->y.value.getDefiningOp(),
                     fromFour(rewriter, attention, written->y, y));
  return success();
}

namespace {

struct FuseAttentionPattern : public OpRewritePattern<nn::MatmulOp> {
  FuseAttentionPattern(MLIRContext *context, const nn::KnownValues &known)
      : OpRewritePattern(context), known(known) {}

  LogicalResult matchAndRewrite(nn::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    return fuseAttention(op, known, rewriter);
  }

  const nn::KnownValues &known;
};

class FuseAttentionPass
    : public divisi::impl::FuseAttentionBase<FuseAttentionPass> {
public:
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    nn::KnownValues known(getOperation()->getParentOfType<ModuleOp>());
    patterns.add<FuseAttentionPattern>(&getContext(), known);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};

} // namespace
