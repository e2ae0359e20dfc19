//===- IntegerProducts.cpp - Products of quantized numbers in integers ----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantized models say in floats what is meant in integers:
//
//   conv(dequantize(x, s, z), dequantize(w, t))
//       →  dequantize(conv_integer(x, w, z), s * t)
//
// where t differs along what the result keeps, and no zero point differs at
// all.
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Codes.h"
#include "passes/Import/Passes.h"

#include "dialects/NN/Functions.h"
#include "dialects/NN/Integer.h"
#include "dialects/NN/Labels.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace divisi {
#define GEN_PASS_DEF_INTEGERPRODUCTS
#include "passes/Import/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// What `value`, of i32, is: a cast, less a zero point if there is one.
static std::optional<Codes> castCodes(Value value) {
  int64_t zero = 0;
  Value zeroValue;
  if (auto sub = value.getDefiningOp<nn::SubOp>()) {
    std::optional<int64_t> known = integerOf(sub.getRhs());
    auto cast = sub.getRhs().getDefiningOp<nn::CastOp>();
    if (typeOf(sub.getLhs()) != typeOf(value) ||
        (!known && (!cast || typeOf(cast.getX()).getNumElements() != 1))) {
      return std::nullopt;
    }
    zero = known.value_or(0);
    zeroValue = known ? Value() : cast.getX();
    value = sub.getLhs();
  }
  auto op = value.getDefiningOp<nn::CastOp>();
  bool isKnown = op && hasBytes(op.getX()) &&
                 typeOf(op.getResult()).getElementType().isInteger(32);
  bool isSigned =
      isKnown && !typeOf(op.getX()).getElementType().isUnsignedInteger();
  bool fits = zero >= (isSigned ? -128 : 0) && zero <= (isSigned ? 127 : 255);
  fits &= !zeroValue || (isKnown && typeOf(zeroValue).getElementType() ==
                                        typeOf(op.getX()).getElementType());
  return isKnown && fits
             ? std::optional(Codes{op.getX(), Value(), zero, zeroValue})
             : std::nullopt;
}

/// What the elements of an operand of a product are.
static std::optional<Codes> codesOf(Value value) {
  return typeOf(value).getElementType().isF32() ? dequantizedCodes(value)
                                                : castCodes(value);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether scales differ only along dimensions d that the result has, as its
/// dimension `to[d]`; it is -1 for others.
static bool areKept(Value scale, ArrayRef<int64_t> to) {
  ArrayRef<int64_t> shape = typeOf(scale).getShape();
  return llvm::all_of(llvm::enumerate(shape), [&](auto dim) {
    return dim.value() == 1 || to[dim.index()] >= 0;
  });
}

/// These scales as what broadcasts to a tensor of `rank`.
static Value scalesFor(PatternRewriter &rewriter, Location loc, Value scale,
                       ArrayRef<int64_t> to, int64_t rank) {
  ArrayRef<int64_t> shape = typeOf(scale).getShape();
  SmallVector<int64_t> wanted(rank, 1), kept, order;
  for (auto [d, extent] : llvm::enumerate(shape)) {
    (extent == 1 ? order : kept).push_back(int64_t(d));
    if (extent != 1) {
      wanted[to[d]] = extent;
    }
  }
  auto isBefore = [&](int64_t a, int64_t b) { return to[a] < to[b]; };
  if (!llvm::is_sorted(kept, isBefore)) {
    llvm::sort(kept, isBefore);
    llvm::append_range(order, kept);
    scale = nn::TransposeOp::create(rewriter, loc, scale, order);
  }
  return typeOf(scale).getShape() == ArrayRef(wanted)
             ? scale
             : nn::ReshapeOp::create(rewriter, loc, scale, wanted).getResult();
}

/// Whether scales are one for all.
static bool isOne(Value scale) {
  return !scale || typeOf(scale).getNumElements() == 1;
}

/// `sums` in the product of both scales, or as they are if there are none.
static Value scaled(PatternRewriter &rewriter, Location loc, Value sums,
                    Value left, Value right) {
  if (!left || !right) {
    return sums;
  }
  Value scale = nn::MulOp::create(rewriter, loc, left, right);
  return nn::DequantizeOp::create(rewriter, loc, sums, scale, Value(), 0, 1);
}

/// Zero points of weights are none, or that of what becomes signed by another
/// highest bit.
static bool isCentred(const Codes &weights) {
  bool isUnsigned = typeOf(weights.x).getElementType().isUnsignedInteger();
  return weights.zero == (isUnsigned ? 128 : 0) && !weights.zeroValue;
}

static LogicalResult convolveCodes(nn::ConvOp op, PatternRewriter &rewriter) {
  auto x = codesOf(op.getX()), w = codesOf(op.getW());
  if (!x || !w || bool(x->scale) != bool(w->scale) || !isOne(x->scale) ||
      x->zeroValue || !isCentred(*w) || typeOf(op.getX()).getRank() < 3) {
    return rewriter.notifyMatchFailure(op, "is not of bytes with one scale and "
                                           "centred weights");
  }
  Location loc = op.getLoc();
  int64_t rank = typeOf(op.getY()).getRank();
  Value left, right;
  if (x->scale) {
    SmallVector<int64_t> none(rank, -1), features(rank, -1);
    features[0] = 1;
    if (!areKept(w->scale, features)) {
      return rewriter.notifyMatchFailure(op, "has scales along other "
                                             "dimensions than features");
    }
    left = scalesFor(rewriter, loc, x->scale, none, rank);
    right = scalesFor(rewriter, loc, w->scale, features, rank);
  }
  Value sums = nn::ConvIntegerOp::create(
      rewriter, loc, x->x, w->x, op.getStrides(), op.getDilations(),
      op.getPadsLo(), op.getPadsHi(), op.getGroups(), x->zero, w->zero);
  rewriter.replaceOp(op, scaled(rewriter, loc, sums, left, right));
  return success();
}

static LogicalResult contractCodes(nn::MatmulOp op, PatternRewriter &rewriter) {
  auto a = codesOf(op.getA()), b = codesOf(op.getB());
  if (!a || !b || bool(a->scale) != bool(b->scale) || b->zeroValue ||
      (!isOne(a->scale) && !isOne(b->scale))) {
    return rewriter.notifyMatchFailure(op, "is not of bytes with a scale each");
  }
  Location loc = op.getLoc();
  nn::Labels labels = *nn::Labels::parse(op.getLabels());
  int64_t rank = typeOf(op.getResult()).getRank();
  SmallVector<int64_t> to[2];
  for (size_t i = 0; i < 2; ++i) {
    for (char letter : i == 0 ? labels.a : labels.b) {
      size_t at = labels.result.find(letter);
      to[i].push_back(at == std::string::npos ? -1 : int64_t(at));
    }
  }
  Value scales[2];
  if (a->scale) {
    if (!areKept(a->scale, to[0]) || !areKept(b->scale, to[1])) {
      return rewriter.notifyMatchFailure(op, "has scales that differ along "
                                             "what is summed");
    }
    scales[0] = scalesFor(rewriter, loc, a->scale, to[0], rank);
    scales[1] = scalesFor(rewriter, loc, b->scale, to[1], rank);
  }
  Value zero = a->zeroValue;
  if (zero && typeOf(zero).getRank() != 0) {
    zero = nn::ReshapeOp::create(rewriter, loc, zero, ArrayRef<int64_t>());
  }
  Value sums = nn::MatmulIntegerOp::create(rewriter, loc, a->x, b->x, zero,
                                           op.getLabels(), a->zero, b->zero);
  rewriter.replaceOp(op, scaled(rewriter, loc, sums, scales[0], scales[1]));
  return success();
}

/// mul(cast(sums), scale)  →  dequantize(sums, scale)
static LogicalResult scaleSums(nn::MulOp op, PatternRewriter &rewriter) {
  auto cast = op.getLhs().getDefiningOp<nn::CastOp>();
  Value scale = op.getRhs();
  if (!cast) {
    cast = op.getRhs().getDefiningOp<nn::CastOp>();
    scale = op.getLhs();
  }
  if (!cast || !cast->hasOneUse() || cast.getType() != op.getType() ||
      !cast.getX().getDefiningOp<nn::MatmulIntegerOp>() ||
      !typeOf(op.getResult()).getElementType().isF32() ||
      scale == cast.getResult()) {
    return rewriter.notifyMatchFailure(op, "scales no sums of codes");
  }
  ArrayRef<int64_t> shape = typeOf(scale).getShape();
  SmallVector<int64_t> wide(op.getType().getRank() - shape.size(), 1);
  wide.append(shape.begin(), shape.end());
  if (wide.size() != shape.size()) {
    scale = nn::ReshapeOp::create(rewriter, op.getLoc(), scale, wide);
  }
  rewriter.replaceOpWithNewOp<nn::DequantizeOp>(op, cast.getX(), scale, Value(),
                                                0, 1);
  return success();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A dequantize of nobody else's that is no more than that; null for all else.
static nn::DequantizeOp dequantizeFor(Value value) {
  auto op = value.getDefiningOp<nn::DequantizeOp>();
  return op && op->hasOneUse() && hasBytes(op.getX()) && isOne(op.getScale()) &&
                 isOne(op.getZero()) && typeOf(value).getElementType().isF32()
             ? op
             : nullptr;
}

/// add(a, dequantize(x))  →  add_dequantized(a, x): one kernel makes `a` and
/// goes on. Of two it is the one whose codes are its alone.
static LogicalResult addCodes(nn::AddOp op, PatternRewriter &rewriter) {
  Value a = op.getLhs(), b = op.getRhs();
  nn::DequantizeOp left = dequantizeFor(a), right = dequantizeFor(b);
  bool isLeftMade = left && left.getX().getDefiningOp<nn::QuantizeOp>() &&
                    left.getX().hasOneUse();
  if (!right || (left && !isLeftMade)) {
    std::swap(a, b);
    std::swap(left, right);
  }
  if (!right || a.getType() != op.getType() || b.getType() != op.getType()) {
    return rewriter.notifyMatchFailure(op, "adds no codes");
  }
  rewriter.replaceOpWithNewOp<nn::AddDequantizedOp>(
      op, a, right.getX(), right.getScale(), right.getZero());
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class IntegerProductsPass
    : public divisi::impl::IntegerProductsBase<IntegerProductsPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// Who reads codes reads a quarter of the bytes of numbers: each user gets
/// numbers of its own, which its call can make.
static void repeatForUsers(func::FuncOp function) {
  for (auto op :
       llvm::make_early_inc_range(function.getOps<nn::DequantizeOp>())) {
    if (!hasBytes(op.getX())) {
      continue;
    }
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      if (op->hasOneUse()) {
        break;
      }
      OpBuilder builder(op);
      use.set(builder.clone(*op)->getResult(0));
    }
  }
}

void IntegerProductsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!nn::isEntry(function) || function.isExternal()) {
    return;
  }
  RewritePatternSet patterns(&getContext());
  patterns.add(convolveCodes);
  patterns.add(contractCodes);
  patterns.add(scaleSums);
  if (failed(applyPatternsGreedily(function, std::move(patterns)))) {
    return signalPassFailure();
  }
  repeatForUsers(function);
  RewritePatternSet sums(&getContext());
  sums.add(addCodes);
  if (failed(applyPatternsGreedily(function, std::move(sums)))) {
    return signalPassFailure();
  }
}
