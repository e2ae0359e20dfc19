//===- UnaryRules.cpp - Gradients of functions of one number --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Each row says what the gradient is multiplied by, of the operand x and the
// result y.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// The derivative at each element.
using Slope = Value (*)(GradientBuilder &b, Value x, Value y);

/// The rule of an operator with that derivative.
template <typename OpT, Slope slope>
static LogicalResult deriveBySlope(OpT op, GradientBuilder &b) {
  b.give(0, [&] {
    return b.mul(b.gradient(), slope(b, op->getOperand(0), op->getResult(0)));
  });
  return success();
}

/// Lets `OpT` have that derivative.
template <typename OpT, Slope slope>
static void attachSlope(MLIRContext &context) {
  attach<OpT, deriveBySlope<OpT, slope>>(context);
}

static Value slopeOfSqrt(GradientBuilder &b, Value, Value y) {
  return b.div(b.number(0.5, y), y);
}

static Value slopeOfRsqrt(GradientBuilder &b, Value, Value y) {
  return b.mul(b.mul(b.square(y), y), -0.5);
}

static Value slopeOfExp(GradientBuilder &, Value, Value y) { return y; }

static Value slopeOfLog(GradientBuilder &b, Value x, Value) {
  return b.div(b.number(1, x), x);
}

static Value slopeOfErf(GradientBuilder &b, Value x, Value) {
  Value bell = b.emit<nn::ExpOp>(b.mul(b.square(x), -1.0));
  return b.mul(bell, 2 * std::numbers::inv_sqrtpi);
}

static Value slopeOfSin(GradientBuilder &b, Value x, Value) {
  return b.emit<nn::CosOp>(x);
}

static Value slopeOfCos(GradientBuilder &b, Value x, Value) {
  return b.emit<nn::NegOp>(b.emit<nn::SinOp>(x));
}

static Value slopeOfTan(GradientBuilder &b, Value, Value y) {
  return b.add(b.square(y), 1);
}

static Value slopeOfAsin(GradientBuilder &b, Value x, Value) {
  return b.emit<nn::RsqrtOp>(b.sub(1, b.square(x)));
}

static Value slopeOfAcos(GradientBuilder &b, Value x, Value y) {
  return b.emit<nn::NegOp>(slopeOfAsin(b, x, y));
}

static Value slopeOfAtan(GradientBuilder &b, Value x, Value) {
  return b.div(b.number(1, x), b.add(b.square(x), 1));
}

static Value slopeOfSinh(GradientBuilder &b, Value x, Value) {
  return b.emit<nn::CoshOp>(x);
}

static Value slopeOfCosh(GradientBuilder &b, Value x, Value) {
  return b.emit<nn::SinhOp>(x);
}

static Value slopeOfAsinh(GradientBuilder &b, Value x, Value) {
  return b.emit<nn::RsqrtOp>(b.add(b.square(x), 1));
}

static Value slopeOfAcosh(GradientBuilder &b, Value x, Value) {
  return b.emit<nn::RsqrtOp>(b.add(b.square(x), -1));
}

static Value slopeOfAtanh(GradientBuilder &b, Value x, Value) {
  return b.div(b.number(1, x), b.sub(1, b.square(x)));
}

static Value slopeOfTanh(GradientBuilder &b, Value, Value y) {
  return b.sub(1, b.square(y));
}

static Value slopeOfSigmoid(GradientBuilder &b, Value, Value y) {
  return b.mul(y, b.sub(1, y));
}

static Value slopeOfSilu(GradientBuilder &b, Value x, Value) {
  Value s = b.emit<nn::SigmoidOp>(x);
  return b.mul(s, b.add(b.mul(x, b.sub(1, s)), 1));
}

/// 0 up to -3, 1 from 3 on.
static Value slopeOfHardSwish(GradientBuilder &b, Value x, Value) {
  Value middle = b.add(b.div(x, 3), 0.5);
  Value low = b.dropWhere(b.compare("lt", x, -3), middle);
  return b.emit<nn::SelectOp>(b.compare("gt", x, 3), b.number(1, x), low);
}

/// (1 + tanh(u)) / 2, with what u changes by.
static Value slopeOfTanhGelu(GradientBuilder &b, Value x) {
  double factor = std::sqrt(2 * std::numbers::inv_pi), cubic = 0.044715;
  Value square = b.square(x);
  Value inner = b.mul(x, b.add(b.mul(square, cubic), 1));
  Value t = b.emit<nn::TanhOp>(b.mul(inner, factor));
  Value change = b.mul(b.add(b.mul(square, 3 * cubic), 1), factor / 2);
  Value bend = b.mul(b.mul(x, change), b.sub(1, b.square(t)));
  return b.add(b.mul(b.add(t, 1), 0.5), bend);
}

/// The normal distribution up to x, and x times its density.
static Value slopeOfErfGelu(GradientBuilder &b, Value x) {
  Value below = b.emit<nn::ErfOp>(b.mul(x, 1 / std::numbers::sqrt2));
  Value density = b.emit<nn::ExpOp>(b.mul(b.square(x), -0.5));
  double scale = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return b.add(b.mul(b.add(below, 1), 0.5), b.mul(b.mul(x, density), scale));
}

static LogicalResult deriveGelu(nn::GeluOp op, GradientBuilder &b) {
  b.give(0, [&] {
    Value slope = op.getApproximate() == "tanh" ? slopeOfTanhGelu(b, op.getX())
                                                : slopeOfErfGelu(b, op.getX());
    return b.mul(b.gradient(), slope);
  });
  return success();
}

static LogicalResult deriveNeg(nn::NegOp, GradientBuilder &b) {
  b.give(0, [&] { return b.emit<nn::NegOp>(b.gradient()); });
  return success();
}

static LogicalResult deriveAbs(nn::AbsOp op, GradientBuilder &b) {
  b.give(0, [&] { return b.mul(b.gradient(), b.emit<nn::SignOp>(op.getX())); });
  return success();
}

/// 0 at 0.
static LogicalResult deriveRelu(nn::ReluOp op, GradientBuilder &b) {
  b.give(0, [&] {
    return b.keepWhere(b.compare("gt", op.getX(), 0), b.gradient());
  });
  return success();
}

/// The gradient of what is rounded is rounded back.
static LogicalResult deriveCast(nn::CastOp op, GradientBuilder &b) {
  b.give(0, [&] { return b.cast(b.gradient(), elementOf(op.getX())); });
  return success();
}

void autodiff::attachUnaryRules(MLIRContext &context) {
  attach<nn::NegOp, deriveNeg>(context);
  attach<nn::AbsOp, deriveAbs>(context);
  attach<nn::ReluOp, deriveRelu>(context);
  attach<nn::GeluOp, deriveGelu>(context);
  attach<nn::CastOp, deriveCast>(context);
  attachSlope<nn::SqrtOp, slopeOfSqrt>(context);
  attachSlope<nn::RsqrtOp, slopeOfRsqrt>(context);
  attachSlope<nn::ExpOp, slopeOfExp>(context);
  attachSlope<nn::LogOp, slopeOfLog>(context);
  attachSlope<nn::ErfOp, slopeOfErf>(context);
  attachSlope<nn::SinOp, slopeOfSin>(context);
  attachSlope<nn::CosOp, slopeOfCos>(context);
  attachSlope<nn::TanOp, slopeOfTan>(context);
  attachSlope<nn::AsinOp, slopeOfAsin>(context);
  attachSlope<nn::AcosOp, slopeOfAcos>(context);
  attachSlope<nn::AtanOp, slopeOfAtan>(context);
  attachSlope<nn::SinhOp, slopeOfSinh>(context);
  attachSlope<nn::CoshOp, slopeOfCosh>(context);
  attachSlope<nn::AsinhOp, slopeOfAsinh>(context);
  attachSlope<nn::AcoshOp, slopeOfAcosh>(context);
  attachSlope<nn::AtanhOp, slopeOfAtanh>(context);
  attachSlope<nn::TanhOp, slopeOfTanh>(context);
  attachSlope<nn::SigmoidOp, slopeOfSigmoid>(context);
  attachSlope<nn::SiluOp, slopeOfSilu>(context);
  attachSlope<nn::HardSwishOp, slopeOfHardSwish>(context);
  attachZero<nn::SignOp, nn::FloorOp, nn::CeilOp, nn::RoundOp, nn::NotOp,
             nn::IsNanOp, nn::IsInfOp>(context);
}
