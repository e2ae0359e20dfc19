//===- ElementwiseRules.cpp - Gradients of elementwise operators ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

static LogicalResult deriveAdd(nn::AddOp, GradientBuilder &b) {
  b.give(0, [&] { return b.gradient(); });
  b.give(1, [&] { return b.gradient(); });
  return success();
}

static LogicalResult deriveSub(nn::SubOp, GradientBuilder &b) {
  b.give(0, [&] { return b.gradient(); });
  b.give(1, [&] { return b.emit<nn::NegOp>(b.gradient()); });
  return success();
}

static LogicalResult deriveMul(nn::MulOp op, GradientBuilder &b) {
  b.give(0, [&] { return b.mul(b.gradient(), op.getRhs()); });
  b.give(1, [&] { return b.mul(b.gradient(), op.getLhs()); });
  return success();
}

static LogicalResult deriveDiv(nn::DivOp op, GradientBuilder &b) {
  b.give(0, [&] { return b.div(b.gradient(), op.getRhs()); });
  b.give(1, [&] {
    Value change = b.div(b.mul(b.gradient(), op.getResult()), op.getRhs());
    return b.emit<nn::NegOp>(change);
  });
  return success();
}

/// x^0 does not change, not even at x = 0.
static Value powByBase(nn::PowOp op, GradientBuilder &b) {
  Value x = op.getLhs(), e = op.getRhs(), dy = b.gradient();
  std::optional<double> known = constantOf(e);
  if (known == 2) {
    return b.mul(b.mul(dy, x), 2);
  }
  if (known == 1) {
    return dy;
  }
  Value slope = b.mul(e, b.emit<nn::PowOp>(x, b.add(e, -1)));
  if (!known || *known == 0) {
    slope = b.dropWhere(b.compare("eq", e, 0), slope);
  }
  return b.mul(dy, slope);
}

/// The exponent counts where the base has a logarithm.
static LogicalResult derivePow(nn::PowOp op, GradientBuilder &b) {
  b.give(0, [&] { return powByBase(op, b); });
  b.give(1, [&] {
    Value x = op.getLhs(), isAbove = b.compare("gt", x, 0);
    Value safe = b.emit<nn::SelectOp>(isAbove, x, b.number(1, x));
    Value slope = b.mul(op.getResult(), b.emit<nn::LogOp>(safe));
    return b.mul(b.gradient(), b.keepWhere(isAbove, slope));
  });
  return success();
}

/// The gradient goes to the operand that is the result, and half of it to each
/// where they are equal.
template <typename OpT>
static LogicalResult deriveExtremum(OpT op, GradientBuilder &b) {
  StringRef wins = std::is_same_v<OpT, nn::MaxOp> ? "gt" : "lt";
  Value isTie = b.compare("eq", op.getLhs(), op.getRhs());
  Value half = b.keepWhere(isTie, b.mul(b.gradient(), 0.5));
  auto share = [&](Value mine, Value other) {
    return b.emit<nn::SelectOp>(b.compare(wins, mine, other), b.gradient(),
                                half);
  };
  b.give(0, [&] { return share(op.getLhs(), op.getRhs()); });
  b.give(1, [&] { return share(op.getRhs(), op.getLhs()); });
  return success();
}

/// x - q*y, q being the rounded quotient.
static LogicalResult deriveMod(nn::ModOp op, GradientBuilder &b) {
  b.give(0, [&] { return b.gradient(); });
  b.give(1, [&] {
    Value quotient = b.div(op.getLhs(), op.getRhs());
    Value rounded = b.emit<nn::FloorOp>(quotient);
    if (op.getFmod()) {
      rounded = b.emit<nn::SelectOp>(b.compare("lt", quotient, 0),
                                     b.emit<nn::CeilOp>(quotient), rounded);
    }
    return b.emit<nn::NegOp>(b.mul(b.gradient(), rounded));
  });
  return success();
}

static LogicalResult deriveSelect(nn::SelectOp op, GradientBuilder &b) {
  b.give(1, [&] { return b.keepWhere(op.getCondition(), b.gradient()); });
  b.give(2, [&] { return b.dropWhere(op.getCondition(), b.gradient()); });
  return success();
}

void autodiff::attachElementwiseRules(MLIRContext &context) {
  attach<nn::AddOp, deriveAdd>(context);
  attach<nn::SubOp, deriveSub>(context);
  attach<nn::MulOp, deriveMul>(context);
  attach<nn::DivOp, deriveDiv>(context);
  attach<nn::PowOp, derivePow>(context);
  attach<nn::MaxOp, deriveExtremum<nn::MaxOp>>(context);
  attach<nn::MinOp, deriveExtremum<nn::MinOp>>(context);
  attach<nn::ModOp, deriveMod>(context);
  attach<nn::SelectOp, deriveSelect>(context);
  attachZero<nn::AndOp, nn::OrOp, nn::XorOp, nn::ShiftOp, nn::CompareOp>(
      context);
}
