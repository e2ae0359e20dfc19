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

#include "dialects/NN/Canonicalize.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace divisi::nn {

bool isPlain(Operation *op) {
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

/// For each dim of `to` the dim of `from` that it is, if all others of these
/// have extent 1.
static std::optional<SmallVector<int64_t>> keptDims(ArrayRef<int64_t> from,
                                                    ArrayRef<int64_t> to) {
  SmallVector<int64_t> kept;
  for (auto [dim, extent] : llvm::enumerate(from)) {
    if (kept.size() < to.size() && extent == to[kept.size()]) {
      kept.push_back(static_cast<int64_t>(dim));
    } else if (extent != 1) {
      return std::nullopt;
    }
  }
  return kept.size() == to.size() ? std::optional(kept) : std::nullopt;
}

/// Extents of 1 come and go before a transpose, which then meets what absorbs
/// it:
///
///   reshape(transpose(x))  ->  transpose(reshape(x))
static LogicalResult reshapeBeforeTranspose(ReshapeOp op,
                                            PatternRewriter &rewriter) {
  auto transpose = op.getX().getDefiningOp<TransposeOp>();
  if (!transpose || !transpose->hasOneUse() || !isPlain(transpose) ||
      !isPlain(op)) {
    return rewriter.notifyMatchFailure(op, "no plain transpose of one use");
  }
  ArrayRef<int64_t> from = transpose.getType().getShape();
  ArrayRef<int64_t> to = op.getType().getShape();
  ArrayRef<int64_t> source = transpose.getX().getType().getShape();
  auto kept = from.size() > to.size()   ? keptDims(from, to)
              : from.size() < to.size() ? keptDims(to, from)
                                        : std::nullopt;
  if (!kept) {
    return rewriter.notifyMatchFailure(op, "does not only add or drop extents "
                                           "of 1");
  }
  SmallVector<int64_t> shape, permutation, order(transpose.getPermutation());
  if (from.size() > to.size()) {
    SmallVector<int64_t> left; // dims of the source
    for (int64_t dim : *kept) {
      left.push_back(order[dim]);
    }
    llvm::sort(left);
    for (int64_t dim : left) {
      shape.push_back(source[dim]);
    }
    for (int64_t dim : *kept) {
      permutation.push_back(llvm::find(left, order[dim]) - left.begin());
    }
  } else {
    auto added = static_cast<int64_t>(to.size() - from.size());
    shape.assign(added, 1);
    llvm::append_range(shape, source);
    for (int64_t dim = 0, next = 0; dim < int64_t(to.size()); ++dim) {
      const auto *at = llvm::find(*kept, dim);
      permutation.push_back(
          at == kept->end() ? next++ : added + order[at - kept->begin()]);
    }
  }
  auto first =
      ReshapeOp::create(rewriter, op.getLoc(), transpose.getX(), shape);
  first->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  replaceKeepingAttributes<TransposeOp>(rewriter, op, first, permutation);
  return success();
}

/// A part of what is transposed, for the same reason.
static LogicalResult sliceBeforeTranspose(SliceOp op,
                                          PatternRewriter &rewriter) {
  auto transpose = op.getX().getDefiningOp<TransposeOp>();
  if (!transpose || !isPlain(transpose) || !isPlain(op)) {
    return rewriter.notifyMatchFailure(op, "no plain transpose");
  }
  size_t rank = op.getStarts().size();
  SmallVector<int64_t> starts(rank), limits(rank), steps(rank);
  for (auto [dim, from] : llvm::enumerate(transpose.getPermutation())) {
    starts[from] = op.getStarts()[dim];
    limits[from] = op.getLimits()[dim];
    steps[from] = op.getSteps()[dim];
  }
  auto part = SliceOp::create(rewriter, op.getLoc(), transpose.getX(), starts,
                              limits, steps);
  part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  replaceKeepingAttributes<TransposeOp>(rewriter, op, part.getResult(),
                                        transpose.getPermutation());
  return success();
}

/// So that the transpose of what it is inserted into meets its inverse, and a
/// slice of a global is written where that rests:
///
///   transpose(insert(transpose(x), slice))  ->  insert(x, transpose(slice))
static LogicalResult transposeBeforeInsert(TransposeOp op,
                                           PatternRewriter &rewriter) {
  auto insert = op.getX().getDefiningOp<InsertOp>();
  if (!insert || !insert->hasOneUse() || !isPlain(insert) || !isPlain(op) ||
      !insert.getX().getDefiningOp<TransposeOp>()) {
    return rewriter.notifyMatchFailure(op, "no plain insertion of one use into "
                                           "what is transposed");
  }
  SmallVector<int64_t> order(op.getPermutation());
  auto x = TransposeOp::create(rewriter, op.getLoc(), insert.getX(), order);
  auto slice =
      TransposeOp::create(rewriter, op.getLoc(), insert.getSlice(), order);
  auto axis = llvm::find(order, int64_t(insert.getAxis())) - order.begin();
  auto made = InsertOp::create(rewriter, insert.getLoc(), x, slice,
                               insert.getOffset(), axis);
  made->setDiscardableAttrs(insert->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, made);
  return success();
}

//===- casts -------------------------------------------------------------===//

/// Whether every number of the float type `from` is one of `to`.
static bool holdsAll(Type from, Type to) {
  auto narrow = dyn_cast<FloatType>(from), wide = dyn_cast<FloatType>(to);
  // Those have neither infinities nor a negative zero.
  bool isFnuz = isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(to);
  return narrow && wide && !isFnuz &&
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
  patterns.add(reshapeBeforeTranspose);
  patterns.add(sliceBeforeTranspose);
  patterns.add(transposeBeforeCast);
  patterns.add(transposeBeforeInsert);
  addAbsorption(patterns);
}

} // namespace divisi::nn
