//===- MoveCodes.cpp - Move codes, not the numbers they stand for ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What moves elements or takes the largest, between a dequantize and a quantize
// that would only undo it, does so with codes:
//
//   quantize(transpose(dequantize(x, s, z)), s, z)  →  transpose(x)
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Codes.h"
#include "passes/Import/Passes.h"

#include "dialects/NN/Functions.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace divisi {
#define GEN_PASS_DEF_MOVECODES
#include "passes/Import/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Later
//===----------------------------------------------------------------------===//

/// Whether `user`, of what is moved, leads to codes by itself: then these are
/// moved.
static bool leadsToCodes(Operation *user) {
  if (isa<nn::QuantizeOp>(user)) {
    return true;
  }
  return isa<nn::MulOp, nn::DivOp>(user) && user->hasOneUse() &&
         isa<nn::QuantizeOp>(*user->user_begin());
}

namespace {
/// Behind an operator on single elements whose other operands are one number
/// each: what quantizes then moves codes, and products absorb what they read.
///
///   quantize(mul(transpose(x), c), s)  →  transpose(quantize(mul(x, c), s))
template <typename OpT> class MoveLater : public OpRewritePattern<OpT> {
public:
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    Operation *user = op->hasOneUse() ? *op->user_begin() : nullptr;
    if (!user || !isWorthIt(user)) {
      return rewriter.notifyMatchFailure(op, "no operator benefits");
    }
    for (Value operand : user->getOperands()) {
      if (operand != op->getResult(0) &&
          typeOf(operand).getNumElements() != 1) {
        return rewriter.notifyMatchFailure(op, "joins two tensors");
      }
    }
    Value x = op.getX();
    SmallVector<Value> operands;
    rewriter.setInsertionPoint(user);
    for (Value operand : user->getOperands()) {
      operands.push_back(
          operand == op->getResult(0) ? x : alike(operand, user, x, rewriter));
    }
    Operation *made = rewriter.clone(*user);
    made->setOperands(operands);
    made->getResult(0).setType(
        typeOf(user->getResult(0)).clone(typeOf(x).getShape()));
    if (user->hasAttr("axis")) {
      made->setAttr("axis", rewriter.getI64IntegerAttr(0)); // one scale
    }
    Operation *moved = rewriter.clone(*op);
    moved->setOperand(0, made->getResult(0));
    moved->getResult(0).setType(
        cast<RankedTensorType>(user->getResult(0).getType()));
    rewriter.replaceOp(user, moved);
    return success();
  }

private:
  /// One number with as many dims as `x`, or fewer.
  static Value alike(Value number, Operation *user, Value x,
                     PatternRewriter &rewriter) {
    int64_t rank = typeOf(x).getRank(), own = typeOf(number).getRank();
    bool isScale = isa<nn::QuantizeOp, nn::DequantizeOp>(user);
    if (isScale ? own == rank : own <= rank) {
      return number;
    }
    return nn::ReshapeOp::create(rewriter, user->getLoc(), number,
                                 SmallVector<int64_t>(isScale ? rank : 0, 1));
  }

  /// Products absorb transposes, and no reshapes.
  static bool isWorthIt(Operation *user) {
    return leadsToCodes(user) ||
           (std::is_same_v<OpT, nn::TransposeOp> &&
            isa<nn::DequantizeOp>(user) && user->hasOneUse() &&
            isa<nn::MatmulOp>(*user->user_begin()));
  }
};
} // namespace

/// A reshape of codes, or of what becomes codes, that only adds or drops dims
/// of extent 1 comes before a transpose, so that that one can come later.
static LogicalResult reshapeBefore(nn::ReshapeOp op,
                                   PatternRewriter &rewriter) {
  auto transpose = op.getX().getDefiningOp<nn::TransposeOp>();
  if (!transpose || !transpose->hasOneUse() || !op->hasOneUse() ||
      (!hasBytes(op) && !leadsToCodes(*op->user_begin()))) {
    return rewriter.notifyMatchFailure(op, "no operator benefits");
  }
  ArrayRef<int64_t> to = op.getType().getShape();
  ArrayRef<int64_t> from = transpose.getX().getType().getShape();
  // The dims of more than one index, as those of the transpose's operand.
  SmallVector<int64_t> wide;
  for (int64_t dim : transpose.getPermutation()) {
    if (from[dim] != 1) {
      wide.push_back(dim);
    }
  }
  SmallVector<int64_t> sorted(wide), shape, permutation, kept;
  llvm::sort(sorted);
  for (int64_t extent : to) {
    if (extent == 1) {
      shape.push_back(1);
    } else {
      kept.push_back(extent);
    }
  }
  int64_t ones = int64_t(shape.size()), nextOne = 0;
  size_t next = 0;
  bool isSame = kept.size() == wide.size();
  for (size_t i = 0; isSame && i < kept.size(); ++i) {
    isSame = kept[i] == from[wide[i]];
  }
  if (!isSame) {
    return rewriter.notifyMatchFailure(op, "does more to dims");
  }
  for (int64_t dim : sorted) {
    shape.push_back(from[dim]);
  }
  for (int64_t extent : to) {
    permutation.push_back(
        extent == 1
            ? nextOne++
            : ones + (llvm::find(sorted, wide[next++]) - sorted.begin()));
  }
  Value reshaped =
      nn::ReshapeOp::create(rewriter, op.getLoc(), transpose.getX(), shape);
  rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, reshaped, permutation);
  return success();
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// Whether the elements of its result are some of its operand's, or the largest
/// of some.
static bool movesCodes(Operation *op) {
  return isa<nn::TransposeOp, nn::ReshapeOp, nn::SliceOp, nn::BroadcastOp,
             nn::ConcatOp, nn::PoolMaxOp>(op);
}

/// A positive number with which codes come back unchanged.
static bool comesBack(Attribute scale) {
  auto number = dyn_cast_or_null<FloatAttr>(scale);
  double value = number ? number.getValueAsDouble() : 0;
  return value > 0x1p-100 && value < 0x1p100;
}

/// Whether `op` quantizes as `codes` are quantized.
static bool isInverse(nn::QuantizeOp op, const Codes &codes) {
  std::optional<int64_t> zero =
      op.getZero() ? integerOf(op.getZero()) : std::optional<int64_t>(0);
  Attribute scale = splatOf(op.getScale());
  return zero == codes.zero && scale && scale == splatOf(codes.scale) &&
         op.getBlock() == 1 && comesBack(scale) &&
         typeOf(op.getY()).getElementType() == typeOf(codes.x).getElementType();
}

/// `value`, which is moved from what `op` would only undo, in codes; null if it
/// is not. With `rewriter` they are made.
static Value codesBehind(nn::QuantizeOp op, Value value,
                         PatternRewriter *rewriter) {
  if (std::optional<Codes> codes = dequantizedCodes(value)) {
    return isInverse(op, *codes) ? codes->x : Value();
  }
  Operation *moved = value.getDefiningOp();
  if (!moved || !movesCodes(moved) || !value.hasOneUse()) {
    return nullptr;
  }
  SmallVector<Value> operands;
  for (Value operand : moved->getOperands()) {
    operands.push_back(codesBehind(op, operand, rewriter));
    if (!operands.back()) {
      return nullptr;
    }
  }
  if (!rewriter) {
    return value;
  }
  Operation *made = rewriter->clone(*moved);
  made->setOperands(operands);
  made->getResult(0).setType(
      typeOf(value).clone(typeOf(op.getY()).getElementType()));
  return made->getResult(0);
}

static LogicalResult moveCodes(nn::QuantizeOp op, PatternRewriter &rewriter) {
  if (!codesBehind(op, op.getX(), nullptr)) {
    return rewriter.notifyMatchFailure(op, "does not undo a dequantize");
  }
  rewriter.replaceOp(op, codesBehind(op, op.getX(), &rewriter));
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class MoveCodesPass : public divisi::impl::MoveCodesBase<MoveCodesPass> {
public:
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!nn::isEntry(function) || function.isExternal()) {
      return;
    }
    MLIRContext *context = &getContext();
    RewritePatternSet later(context), moves(context);
    later.add<MoveLater<nn::TransposeOp>, MoveLater<nn::ReshapeOp>>(context);
    later.add(reshapeBefore);
    context->getLoadedDialect<nn::NNDialect>()->getCanonicalizationPatterns(
        later);
    moves.add(moveCodes);
    if (failed(applyPatternsGreedily(function, std::move(later))) ||
        failed(applyPatternsGreedily(function, std::move(moves)))) {
      signalPassFailure();
    }
  }
};

} // namespace
