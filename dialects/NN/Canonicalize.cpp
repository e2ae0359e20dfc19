//===- Canonicalize.cpp - Simplifications that hold everywhere ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Movement that does nothing goes, movement of movement becomes one, and what
// the labels of a contraction or a broadcast can say needs no movement:
//
//   nn.matmul(nn.transpose(x), w) {"mk,kn->mn"}  ->  nn.matmul(x, w)
//   {"km,kn->mn"} nn.add(x, nn.reshape(c : tensor<1x1xf32>))   ->  nn.add(x, c
//   : tensor<f32>)
//
// All of this is for global programs. A box, or an operator that somebody has
// annotated, keeps its form: an annotation names loops, and other operators
// have other loops.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Labels.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace divisi::nn {

/// Whether nothing is said about where `op` runs or how its values lie.
static bool isPlain(Operation *op) {
  auto isWhole = [](Type type) {
    return !cast<RankedTensorType>(type).getEncoding();
  };
  return llvm::all_of(op->getOperandTypes(), isWhole) &&
         llvm::all_of(op->getResultTypes(), isWhole) &&
         llvm::all_of(op->getDiscardableAttrs(), [](NamedAttribute attribute) {
           return attribute.getName().strref().starts_with("nn.");
         });
}

static bool allEqual(ArrayRef<int64_t> values, int64_t expected) {
  return llvm::all_of(values, [&](int64_t v) { return v == expected; });
}

//===- operators that change nothing --------------------------------------===//

static bool isIdentity(ReshapeOp op) { return true; }
static bool isIdentity(CastOp op) { return true; }
static bool isIdentity(BroadcastOp op) { return true; }
static bool isIdentity(ConcatOp op) { return op.getXs().size() == 1; }
static bool isIdentity(TransposeOp op) {
  return llvm::is_sorted(op.getPermutation());
}
static bool isIdentity(SliceOp op) {
  return allEqual(op.getStarts(), 0) && allEqual(op.getSteps(), 1);
}
static bool isIdentity(PadOp op) {
  return allEqual(op.getLo(), 0) && allEqual(op.getHi(), 0);
}

/// Operators with one operand that keep its type, and say nothing else.
template <typename OpT>
static LogicalResult dropIdentity(OpT op, PatternRewriter &rewriter) {
  if (op->getNumOperands() != 1 ||
      op->getOperand(0).getType() != op.getType() || !isIdentity(op) ||
      !isPlain(op)) {
    return rewriter.notifyMatchFailure(op, "changes its operand, or is told "
                                           "where to run");
  }
  rewriter.replaceOp(op, op->getOperand(0));
  return success();
}

//===- movement of movement -----------------------------------------------===//

/// Replaces `op` by one that does more; what was said of `op` holds for it.
template <typename OpT, typename... Args>
static void replaceKeepingAttributes(PatternRewriter &rewriter, Operation *op,
                                     Args &&...args) {
  DictionaryAttr said = op->getDiscardableAttrDictionary();
  auto replacement =
      rewriter.replaceOpWithNewOp<OpT>(op, std::forward<Args>(args)...);
  replacement->setDiscardableAttrs(said);
}

static LogicalResult mergeReshapes(ReshapeOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<ReshapeOp>();
  if (!inner || !isPlain(inner) || !isPlain(op)) {
    return rewriter.notifyMatchFailure(op, "no plain reshape of a reshape");
  }
  replaceKeepingAttributes<ReshapeOp>(rewriter, op, inner.getX(),
                                      op.getType().getShape());
  return success();
}

static LogicalResult mergeTransposes(TransposeOp op,
                                     PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<TransposeOp>();
  if (!inner || !isPlain(inner) || !isPlain(op)) {
    return rewriter.notifyMatchFailure(op, "no plain transpose of a transpose");
  }
  SmallVector<int64_t> permutation;
  for (int64_t dim : op.getPermutation()) {
    permutation.push_back(inner.getPermutation()[dim]);
  }
  replaceKeepingAttributes<TransposeOp>(rewriter, op, inner.getX(),
                                        permutation);
  return success();
}

//===- what labels can say ------------------------------------------------===//

static LogicalResult absorbOperandTranspose(MatmulOp op,
                                            PatternRewriter &rewriter) {
  Labels labels = *Labels::parse(op.getLabels());
  for (OpOperand &operand : op->getOpOperands()) {
    auto transpose = operand.get().getDefiningOp<TransposeOp>();
    if (!transpose || !isPlain(transpose) || !isPlain(op)) {
      continue;
    }
    std::string &letters =
        operand.getOperandNumber() == 0 ? labels.a : labels.b;
    std::string before = letters;
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation())) {
      letters[from] = before[dim];
    }
    rewriter.modifyOpInPlace(op, [&] {
      operand.set(transpose.getX());
      op.setLabels(labels.str());
    });
    return success();
  }
  return rewriter.notifyMatchFailure(op, "no operand is a plain transpose");
}

static LogicalResult absorbResultTranspose(TransposeOp op,
                                           PatternRewriter &rewriter) {
  auto matmul = op.getX().getDefiningOp<MatmulOp>();
  if (!matmul || !matmul->hasOneUse() || !isPlain(matmul) || !isPlain(op)) {
    return rewriter.notifyMatchFailure(op, "no matmul of which it is the use");
  }
  Labels labels = *Labels::parse(matmul.getLabels());
  std::string result;
  for (int64_t dim : op.getPermutation()) {
    result += labels.result[dim];
  }
  labels.result = result;
  // The work is the matmul's, and so are its place and what is said of it.
  auto merged = MatmulOp::create(rewriter, matmul.getLoc(), op.getType(),
                                 matmul.getA(), matmul.getB(), labels.str());
  merged->setDiscardableAttrs(matmul->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, merged);
  rewriter.eraseOp(matmul);
  return success();
}

/// Whether every number of the float type `from` is one of `to`.
static bool holdsAll(Type from, Type to) {
  auto narrow = dyn_cast<FloatType>(from), wide = dyn_cast<FloatType>(to);
  return narrow && wide &&
         APFloat::isRepresentableBy(narrow.getFloatSemantics(),
                                    wide.getFloatSemantics());
}

/// A cast of what was widened is one of what it was; to widen and narrow again
/// is nothing.
static LogicalResult mergeCasts(CastOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<CastOp>();
  if (!inner || !isPlain(inner) || !isPlain(op) ||
      !holdsAll(inner.getX().getType().getElementType(),
                inner.getType().getElementType())) {
    return rewriter.notifyMatchFailure(op, "no plain cast of what was widened");
  }
  if (op.getType() == inner.getX().getType()) {
    bool saturates = !op.getSaturate() || *op.getSaturate();
    if (saturates && isa<Float8E5M2Type>(op.getType().getElementType())) {
      return rewriter.notifyMatchFailure(op, "infinities do not come back");
    }
    rewriter.replaceOp(op, inner.getX());
    return success();
  }
  replaceKeepingAttributes<CastOp>(rewriter, op, op.getType(), inner.getX(),
                                   op.getSaturateAttr());
  return success();
}

/// So that the matmul behind the cast absorbs the transpose.
static LogicalResult transposeBeforeCast(TransposeOp op,
                                         PatternRewriter &rewriter) {
  auto cast = op.getX().getDefiningOp<CastOp>();
  if (!cast || !cast->hasOneUse() || !isPlain(cast) || !isPlain(op) ||
      !cast.getX().getDefiningOp<MatmulOp>()) {
    return rewriter.notifyMatchFailure(op, "no cast matmul of one use");
  }
  Value moved = TransposeOp::create(rewriter, op.getLoc(), cast.getX(),
                                    op.getPermutation());
  auto made = CastOp::create(rewriter, cast.getLoc(), moved,
                             cast.getType().getElementType());
  made.setSaturateAttr(cast.getSaturateAttr());
  made->setDiscardableAttrs(cast->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, made);
  return success();
}

/// A repeated dim needs no letter in the operand that repeats it, as long as
/// the other operand has the letter and it is not summed over.
static LogicalResult absorbOperandBroadcast(MatmulOp op,
                                            PatternRewriter &rewriter) {
  Labels labels = *Labels::parse(op.getLabels());
  for (OpOperand &operand : op->getOpOperands()) {
    auto broadcast = operand.get().getDefiningOp<BroadcastOp>();
    if (!broadcast || !isPlain(broadcast) || !isPlain(op)) {
      continue;
    }
    bool isFirst = operand.getOperandNumber() == 0;
    std::string &letters = isFirst ? labels.a : labels.b;
    const std::string &other = isFirst ? labels.b : labels.a;
    // Where each dim of the result comes from, or -1 where it is repeated.
    SmallVector<int64_t> source(letters.size(), -1);
    ArrayRef<int64_t> extents = broadcast.getX().getType().getShape();
    for (auto [dim, to] : llvm::enumerate(broadcast.getDims())) {
      bool isRepeated = extents[dim] != broadcast.getType().getDimSize(to);
      source[to] = isRepeated ? -1 : static_cast<int64_t>(dim);
    }
    std::string kept;
    SmallVector<int64_t> shape;
    bool canDrop = true;
    for (auto [dim, letter] : llvm::enumerate(letters)) {
      if (source[dim] >= 0) {
        kept += letter;
        shape.push_back(extents[source[dim]]);
      } else {
        canDrop &= StringRef(other).contains(letter) &&
                   StringRef(labels.result).contains(letter);
      }
    }
    if (!canDrop) {
      continue;
    }
    Value x = broadcast.getX();
    if (shape != extents) {
      x = ReshapeOp::create(rewriter, broadcast.getLoc(), x, shape);
    }
    letters = kept;
    rewriter.modifyOpInPlace(op, [&] {
      operand.set(x);
      op.setLabels(labels.str());
    });
    return success();
  }
  return rewriter.notifyMatchFailure(op, "no operand repeats a free dim");
}

namespace {
/// Scales and the like before a transpose or broadcast, which the matmul behind
/// then absorbs, or before a reshape, which then meets the one behind:
///
///   matmul(mul(transpose(x), c), w)  ->  matmul(transpose(mul(x, c)), w)
class ScaleBeforeMoving : public OpTraitRewritePattern<Broadcasting> {
public:
  using OpTraitRewritePattern::OpTraitRewritePattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isPlain(op) || !op->hasOneUse()) {
      return rewriter.notifyMatchFailure(op, "is not for one user alone");
    }
    OpOperand *moved = nullptr;
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      if (type.getNumElements() == 1) {
        continue;
      }
      if (moved) {
        return rewriter.notifyMatchFailure(op, "joins two tensors");
      }
      moved = &operand;
    }
    Operation *movement = moved ? moved->get().getDefiningOp() : nullptr;
    Operation *user = *op->user_begin();
    bool meets =
        isa<MatmulOp>(user)
            ? isa_and_present<TransposeOp, BroadcastOp>(movement)
            : isa<ReshapeOp>(user) && isa_and_present<ReshapeOp>(movement);
    if (!meets || !isPlain(movement)) {
      return rewriter.notifyMatchFailure(op, "its user absorbs no movement");
    }
    return move(op, *moved, movement, rewriter);
  }

private:
  static LogicalResult move(Operation *op, OpOperand &moved,
                            Operation *movement, PatternRewriter &rewriter) {
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<Value> operands(op->getOperands());
    operands[moved.getOperandNumber()] = movement->getOperand(0);
    auto type = inferElementwise(operands, result.getElementType(),
                                 [&] { return op->emitOpError(); });
    auto before = cast<RankedTensorType>(movement->getOperand(0).getType());
    bool keepsShapes =
        succeeded(type) && type->getShape() == before.getShape() &&
        result.getShape() ==
            cast<RankedTensorType>(moved.get().getType()).getShape();
    if (!keepsShapes) {
      return rewriter.notifyMatchFailure(op, "a scalar has the larger rank");
    }
    Operation *scaled = rewriter.clone(*op);
    scaled->setOperands(operands);
    scaled->getResult(0).setType(*type);
    Operation *last = rewriter.clone(*movement);
    last->setOperand(0, scaled->getResult(0));
    last->getResult(0).setType(result);
    rewriter.replaceOp(op, last);
    return success();
  }
};
} // namespace

//===- what a broadcast can say -------------------------------------------===//

/// `shape` without the extents of 1 that it begins with.
static ArrayRef<int64_t> dropLeadingOnes(ArrayRef<int64_t> shape) {
  return shape.drop_while([](int64_t extent) { return extent == 1; });
}

/// The operand of a reshape or broadcast if it stands for the same elements
/// when shapes are aligned at their last dimensions; else null.
static Value lookThroughRepetition(Value value) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    // With other users it stays, and patterns would see two names of one value.
    bool same = value.hasOneUse() &&
                dropLeadingOnes(reshape.getX().getType().getShape()) ==
                    dropLeadingOnes(reshape.getType().getShape());
    return same && isPlain(reshape) ? reshape.getX() : Value();
  }
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || !isPlain(broadcast)) {
    return {};
  }
  int64_t lead = broadcast.getType().getRank() -
                 static_cast<int64_t>(broadcast.getDims().size());
  for (auto [dim, to] : llvm::enumerate(broadcast.getDims())) {
    if (to != lead + static_cast<int64_t>(dim)) {
      return {};
    }
  }
  return broadcast.getX();
}

namespace {
/// An operator that broadcasts needs no operand that is spread out for it, as
/// long as the others give the result its shape.
class AbsorbRepetition : public OpTraitRewritePattern<Broadcasting> {
public:
  using OpTraitRewritePattern::OpTraitRewritePattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isPlain(op)) {
      return rewriter.notifyMatchFailure(op, "is annotated or a box");
    }
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<Value> operands(op->getOperands());
    for (OpOperand &operand : op->getOpOperands()) {
      Value source = lookThroughRepetition(operand.get());
      if (!source) {
        continue;
      }
      operands[operand.getOperandNumber()] = source;
      auto shape = inferElementwise(operands, result.getElementType(),
                                    [&] { return op->emitOpError(); });
      if (succeeded(shape) && *shape == result) {
        rewriter.modifyOpInPlace(op, [&] { operand.set(source); });
        return success();
      }
      operands[operand.getOperandNumber()] = operand.get();
    }
    return rewriter.notifyMatchFailure(op, "no operand is spread out for it");
  }
};
} // namespace

//===- registration -------------------------------------------------------===//

void NNDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<AbsorbRepetition, ScaleBeforeMoving>(getContext());
  patterns.add(dropIdentity<CastOp>);
  patterns.add(dropIdentity<ReshapeOp>);
  patterns.add(dropIdentity<TransposeOp>);
  patterns.add(dropIdentity<BroadcastOp>);
  patterns.add(dropIdentity<SliceOp>);
  patterns.add(dropIdentity<PadOp>);
  patterns.add(dropIdentity<ConcatOp>);
  patterns.add(mergeCasts);
  patterns.add(mergeReshapes);
  patterns.add(mergeTransposes);
  patterns.add(absorbOperandTranspose);
  patterns.add(absorbOperandBroadcast);
  patterns.add(absorbResultTranspose);
  patterns.add(transposeBeforeCast);
}

} // namespace divisi::nn
