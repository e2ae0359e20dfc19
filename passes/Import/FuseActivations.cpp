//===- FuseActivations.cpp - Recognise what exporters write out -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write GELU and RMS normalisation as a dozen elementwise operators.
//
//   mul(mul(x, 0.5), add(erf(mul(x, 0.7071)), 1))   →  gelu x
//   div(x, sqrt(add(mean(mul(x, x)), eps)))         →  normalize x
//   select(less(x, 0), mul(x, 0.01), x)             →  max(x, mul(x, 0.01))
//
// One operator each: less memory traffic, kernels that know them, and for the
// planner one exchange where there would be several.
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Codes.h"
#include "passes/Import/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace divisi {
#define GEN_PASS_DEF_FUSEACTIVATIONS
#include "passes/Import/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Whether both are one tensor, but for dims of extent 1 in front: exporters
/// reshape to matrices and back, and elementwise operators do not need the way
/// back.
static bool isSame(Value a, Value b) {
  for (Value *value : {&a, &b}) {
    if (auto reshape = value->getDefiningOp<nn::ReshapeOp>()) {
      auto drop = [](ArrayRef<int64_t> shape) {
        return shape.drop_while([](int64_t extent) { return extent == 1; });
      };
      Value x = reshape.getX();
      if (drop(nn::globalShape(x.getType())) ==
          drop(nn::globalShape(value->getType()))) {
        *value = x;
      }
    }
  }
  return a == b;
}

/// Constants come in f32, and from sources of few digits.
static bool isNumber(Value value, double expected) {
  auto number = numberOf(value);
  return number && std::abs(*number - expected) <= 1e-4 * std::abs(expected);
}

/// The x of `OpT(x, number)` in either order.
template <typename OpT> static Value otherOperand(Value value, double number) {
  auto op = value.getDefiningOp<OpT>();
  if (!op) {
    return {};
  }
  if (isNumber(op.getRhs(), number)) {
    return op.getLhs();
  }
  return isNumber(op.getLhs(), number) ? op.getRhs() : Value();
}

/// The x of x·factor or x/(1/factor).
static Value unscaled(Value value, double factor) {
  if (Value x = otherOperand<nn::MulOp>(value, factor)) {
    return x;
  }
  auto div = value.getDefiningOp<nn::DivOp>();
  return div && isNumber(div.getRhs(), 1 / factor) ? div.getLhs() : Value();
}

static bool isSquare(Value value, Value x) {
  if (auto mul = value.getDefiningOp<nn::MulOp>()) {
    return isSame(mul.getLhs(), x) && isSame(mul.getRhs(), x);
  }
  auto pow = value.getDefiningOp<nn::PowOp>();
  return pow && isSame(pow.getLhs(), x) && isNumber(pow.getRhs(), 2);
}

static bool isCube(Value value, Value x) {
  if (auto mul = value.getDefiningOp<nn::MulOp>()) {
    return (isSame(mul.getLhs(), x) && isSquare(mul.getRhs(), x)) ||
           (isSame(mul.getRhs(), x) && isSquare(mul.getLhs(), x));
  }
  auto pow = value.getDefiningOp<nn::PowOp>();
  return pow && isSame(pow.getLhs(), x) && isNumber(pow.getRhs(), 3);
}

//===----------------------------------------------------------------------===//
// GELU
//===----------------------------------------------------------------------===//

/// Whether `value` is x + 0.044715·x³.
static bool isCubicArgument(Value value, Value x) {
  auto add = value.getDefiningOp<nn::AddOp>();
  if (!add) {
    return false;
  }
  Value other = isSame(add.getLhs(), x)   ? add.getRhs()
                : isSame(add.getRhs(), x) ? add.getLhs()
                                          : Value();
  Value cube = other ? unscaled(other, 0.044715) : Value();
  return cube && isCube(cube, x);
}

/// If `value` is 1 + erf(x/√2) or 1 + tanh(√(2/π)·(x + 0.044715·x³)), which.
static StringRef gateKind(Value value, Value x) {
  Value gate = otherOperand<nn::AddOp>(value, 1);
  if (!gate) {
    return "";
  }
  if (auto erf = gate.getDefiningOp<nn::ErfOp>()) {
    Value inner = unscaled(erf.getX(), std::sqrt(0.5));
    return inner && isSame(inner, x) ? "none" : "";
  }
  auto tanh = gate.getDefiningOp<nn::TanhOp>();
  Value inner = tanh ? unscaled(tanh.getX(), std::sqrt(2 / M_PI)) : Value();
  return inner && isCubicArgument(inner, x) ? "tanh" : "";
}

/// The x and the kind of x·(0.5·gate), (0.5·x)·gate, 0.5·(x·gate).
static std::pair<Value, StringRef> matchGelu(nn::MulOp op) {
  Value sides[] = {op.getLhs(), op.getRhs()};
  for (int i : {0, 1}) {
    Value a = sides[i], b = sides[1 - i];
    if (Value x = unscaled(a, 0.5)) {
      if (StringRef kind = gateKind(b, x); !kind.empty()) {
        return {x, kind};
      }
    }
    if (Value gate = unscaled(b, 0.5)) {
      if (StringRef kind = gateKind(gate, a); !kind.empty()) {
        return {a, kind};
      }
    }
    auto product = a.getDefiningOp<nn::MulOp>();
    if (product && isNumber(b, 0.5)) {
      Value x = product.getLhs(), gate = product.getRhs();
      if (StringRef kind = gateKind(gate, x); !kind.empty()) {
        return {x, kind};
      }
      if (StringRef kind = gateKind(x, gate); !kind.empty()) {
        return {gate, kind};
      }
    }
  }
  return {};
}

static void keepScope(Operation *from, Operation *to) {
  if (Attribute scope = from->getDiscardableAttr("nn.scope")) {
    to->setDiscardableAttr("nn.scope", scope);
  }
}

static LogicalResult fuseGelu(nn::MulOp op, PatternRewriter &rewriter) {
  auto [x, kind] = matchGelu(op);
  if (!x || x.getType() != op.getType()) {
    return rewriter.notifyMatchFailure(op, "is not the last product of a GELU");
  }
  auto gelu = nn::GeluOp::create(rewriter, op.getLoc(), op.getType(), x, kind);
  keepScope(op, gelu);
  rewriter.replaceOp(op, gelu);
  return success();
}

/// x · sigmoid(x).
static LogicalResult fuseSilu(nn::MulOp op, PatternRewriter &rewriter) {
  for (auto [x, other] : {std::pair(op.getLhs(), op.getRhs()),
                          std::pair(op.getRhs(), op.getLhs())}) {
    auto sigmoid = other.getDefiningOp<nn::SigmoidOp>();
    if (sigmoid && sigmoid.getX() == x && x.getType() == op.getType()) {
      auto silu = nn::SiluOp::create(rewriter, op.getLoc(), op.getType(), x);
      keepScope(op, silu);
      rewriter.replaceOp(op, silu);
      return success();
    }
  }
  return rewriter.notifyMatchFailure(op, "is not x times its sigmoid");
}

//===----------------------------------------------------------------------===//
// Leaky ReLU
//===----------------------------------------------------------------------===//

/// Whether `value` is x times a number between 0 and 1.
static bool isFlatter(Value value, Value x) {
  auto mul = value.getDefiningOp<nn::MulOp>();
  if (!mul || (mul.getLhs() != x && mul.getRhs() != x)) {
    return false;
  }
  auto slope = numberOf(mul.getLhs() == x ? mul.getRhs() : mul.getLhs());
  return slope && *slope > 0 && *slope < 1;
}

/// x < 0 ? a * x : x is the larger of the two, to the bit: rounding does not
/// change which of them that is, and zeros and NaN stay what they are.
static LogicalResult fuseLeakyRelu(nn::SelectOp op, PatternRewriter &rewriter) {
  auto compare = op.getCondition().getDefiningOp<nn::CompareOp>();
  if (!compare || !isNumber(compare.getRhs(), 0)) {
    return rewriter.notifyMatchFailure(op, "does not compare with 0");
  }
  StringRef predicate = compare.getPredicate();
  bool isLess = predicate == "lt" || predicate == "le";
  Value x = isLess ? op.getY() : op.getX();
  Value product = isLess ? op.getX() : op.getY();
  bool isKnown = isLess || predicate == "gt" || predicate == "ge";
  if (!isKnown || compare.getLhs() != x || !isFlatter(product, x) ||
      x.getType() != op.getType()) {
    return rewriter.notifyMatchFailure(op, "is no choice of x and a part of x");
  }
  auto max =
      nn::MaxOp::create(rewriter, op.getLoc(), op.getType(), x, product);
  keepScope(op, max);
  rewriter.replaceOp(op, max);
  return success();
}

//===----------------------------------------------------------------------===//
// RMS normalisation
//===----------------------------------------------------------------------===//

/// If `value` is the mean of x² over some axes, kept as 1, these axes.
static std::optional<SmallVector<int64_t>> meanSquareAxes(Value value,
                                                          Value x) {
  auto div = value.getDefiningOp<nn::DivOp>();
  auto kept = div ? div.getLhs().getDefiningOp<nn::ReshapeOp>() : nullptr;
  auto sum = kept ? kept.getX().getDefiningOp<nn::ReduceOp>() : nullptr;
  // The axes are those of x only if the square has its dims.
  if (!sum || sum.getKind() != "sum" || !isSquare(sum.getX(), x) ||
      nn::globalShape(sum.getX().getType()) != nn::globalShape(x.getType())) {
    return std::nullopt;
  }
  SmallVector<int64_t> shape(nn::globalShape(x.getType()));
  double count = 1;
  for (int64_t axis : sum.getAxes()) {
    count *= static_cast<double>(shape[axis]);
    shape[axis] = 1;
  }
  if (nn::globalShape(kept.getType()) != ArrayRef(shape) ||
      numberOf(div.getRhs()) != count) {
    return std::nullopt;
  }
  return SmallVector<int64_t>(sum.getAxes());
}

/// Replaces `op` by a normalisation of x if `root` is √(mean(x²) + ε).
static LogicalResult fuseNormalize(Operation *op, Value x, Value root,
                                   PatternRewriter &rewriter) {
  auto sqrt = root.getDefiningOp<nn::SqrtOp>();
  auto add = sqrt ? sqrt.getX().getDefiningOp<nn::AddOp>() : nullptr;
  if (!add || x.getType() != op->getResult(0).getType()) {
    return rewriter.notifyMatchFailure(op, "the other operand is no root");
  }
  for (auto [mean, number] : {std::pair(add.getLhs(), add.getRhs()),
                              std::pair(add.getRhs(), add.getLhs())}) {
    auto axes = meanSquareAxes(mean, x);
    auto epsilon = numberOf(number);
    if (!axes || !epsilon || *epsilon < 0) {
      continue;
    }
    auto made = nn::NormalizeOp::create(rewriter, op->getLoc(),
                                        op->getResult(0).getType(), x, *axes,
                                        /*center=*/false, *epsilon);
    keepScope(op, made);
    rewriter.replaceOp(op, made);
    return success();
  }
  return rewriter.notifyMatchFailure(op,
                                     "no mean of squares is under the root");
}

static LogicalResult fuseQuotient(nn::DivOp op, PatternRewriter &rewriter) {
  return fuseNormalize(op, op.getLhs(), op.getRhs(), rewriter);
}

/// x · (1/root).
static LogicalResult fuseProduct(nn::MulOp op, PatternRewriter &rewriter) {
  for (auto [x, other] : {std::pair(op.getLhs(), op.getRhs()),
                          std::pair(op.getRhs(), op.getLhs())}) {
    auto div = other.getDefiningOp<nn::DivOp>();
    if (div && isNumber(div.getLhs(), 1) &&
        succeeded(fuseNormalize(op, x, div.getRhs(), rewriter))) {
      return success();
    }
  }
  return rewriter.notifyMatchFailure(op, "is no product with 1/root");
}

namespace {

class FuseActivationsPass
    : public divisi::impl::FuseActivationsBase<FuseActivationsPass> {
public:
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(fuseGelu);
    patterns.add(fuseSilu);
    patterns.add(fuseLeakyRelu);
    patterns.add(fuseQuotient);
    patterns.add(fuseProduct);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      signalPassFailure();
    }
  }
};

} // namespace
