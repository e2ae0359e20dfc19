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
// Each replacement is evaluated beside what it replaces (Replacement.h) before
// it takes its place.
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Codes.h"
#include "passes/Import/FourDims.h"
#include "passes/Import/Passes.h"
#include "passes/Import/WrittenAttention.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Labels.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"

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
  auto repeat = merge ? merge.getX().getDefiningOp<nn::BroadcastOp>() : nullptr;
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
      return mask.value && padded(mask.value, written.scores.size())[dim] != 1;
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

static Status declined(const char *why) {
  return Status(ExitCode::Invalid, why);
}

/// Tells what was made between two operators, of which the first may be null.
static void addMade(Operation *before, Operation *end,
                    Replacement &replacement) {
  Operation *made = before ? before->getNextNode() : &end->getBlock()->front();
  for (; made != end; made = made->getNextNode()) {
    replacement.made.push_back(made);
  }
}

/// Whether all tensors have as many dims as those of an attention.
static bool hasFourDims(const WrittenAttention &written) {
  return llvm::all_of(
      ArrayRef{&written.q, &written.k, &written.v, &written.y},
      [](const Lettered *each) { return each->letters.size() == 4; });
}

/// Makes an attention of what `op`, the last product of one, computes, and puts
/// it in its place. Fails, saying why, where it stays; without a reason where
/// it is none.
static Status fuseAttention(nn::MatmulOp op, const nn::KnownValues &known,
                            bool fourDims) {
  std::optional<WrittenAttention> written = matchAttention(op, /*isLeft=*/true);
  if (!written) {
    written = matchAttention(op, /*isLeft=*/false);
  }
  std::optional<Classes> classes = written ? classify(*written) : std::nullopt;
  if (!classes || (fourDims && !hasFourDims(*written))) {
    return declined("");
  }
  // Products of packed weights are faster than keys and values.
  if (known.isKnown(written->k.value) && known.isKnown(written->v.value)) {
    return declined("it has weights for keys and values");
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

  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  Replacement replacement;
  Value mask = joinMasks(builder, op.getLoc(), *written, replacement);
  if (mask) {
    SmallVector<int64_t> scores;
    for (char letter : written->scores) {
      const Lettered &from = StringRef(written->q.letters).contains(letter)
                                 ? written->q
                                 : written->k;
      scores.push_back(
          typeOf(from.value).getShape()[from.letters.find(letter)]);
    }
    mask = maskFor(builder, mask, *written,
                   {outer, head + group, queries, classes->keys}, scores);
  }
  nn::AttentionLabels labels;
  scaleRows(builder, *written);
  if (!head.empty()) {
    groupHeads(builder, head.front(), *written);
  }
  labels.tensors = {
      lettersOfFour(0, written->q, q), lettersOfFour(1, written->k, k),
      lettersOfFour(2, written->v, v), lettersOfFour(3, written->y, y)};
  Value queried = toFour(builder, written->q, q);
  Value keys = toFour(builder, written->k, k);
  Value values = toFour(builder, written->v, v);
  auto attention = nn::AttentionOp::create(
      builder, op.getLoc(), queried, keys, values, mask, written->scale.number,
      written->softcap, /*left=*/-1, /*right=*/-1, /*offset=*/0, labels.str(),
      written->makesNan);
  attention->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  replacement.exact[attention] = written->scale;
  replacement.replaced = written->y.value;
  replacement.by = fromFour(builder, attention, written->y, y);
  addMade(before, op, replacement);
  return replaceChecked(replacement);
}

/// Takes into an attention what is done to its queries, keys and values before:
/// multiplying by numbers, and repeating heads. Fails like fuseAttention().
static Status widenAttention(nn::AttentionOp op) {
  nn::AttentionLabels labels = *nn::AttentionLabels::parse(op.getLabels());
  WrittenAttention written;
  written.q = {op.getQ(), labels.tensors[0]};
  written.k = {op.getK(), labels.tensors[1]};
  written.v = {op.getV(), labels.tensors[2]};
  written.scale = ExactNumber(op.getScale());
  takeFactors(written, typeOf(op).getElementType());
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  groupHeads(builder, 'h', written);
  if (written.q.value == op.getQ() && written.k.value == op.getK() &&
      written.v.value == op.getV()) {
    return declined("");
  }
  auto wider = cast<nn::AttentionOp>(builder.clone(*op));
  wider.getQMutable().assign(written.q.value);
  wider.getKMutable().assign(written.k.value);
  wider.getVMutable().assign(written.v.value);
  wider.setScale(written.scale.number);
  Replacement replacement;
  replacement.exact[wider] = written.scale;
  replacement.replaced = op;
  replacement.by = wider;
  if (op.getMask()) {
    replacement.masks[op.getMask()] = false;
  }
  addMade(before, op, replacement);
  return replaceChecked(replacement);
}

namespace {

class FuseAttentionPass
    : public divisi::impl::FuseAttentionBase<FuseAttentionPass> {
public:
  using FuseAttentionBase::FuseAttentionBase;

  void runOnOperation() override {
    nn::KnownValues known(getOperation()->getParentOfType<ModuleOp>());
    SmallVector<Operation *> operators;
    getOperation().walk([&](Operation *op) {
      if (isa<nn::MatmulOp, nn::AttentionOp>(op)) {
        operators.push_back(op);
      }
    });
    for (Operation *op : operators) {
      auto product = dyn_cast<nn::MatmulOp>(op);
      tell(op, product ? fuseAttention(product, known, fourDims)
                       : widenAttention(cast<nn::AttentionOp>(op)));
    }
    // What is replaced, nobody reads any more.
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }

private:
  void tell(Operation *op, const Status &status) {
    auto options =
        remark::RemarkOpts::name("attention").category(getArgument());
    if (status.isOk()) {
      ++numFused;
      remark::passed(op->getLoc(), options) << "fused";
    } else if (!status.message().empty()) {
      remark::missed(op->getLoc(), options) << status.message();
    }
  }
};

} // namespace
