//===- RealFunctions.cpp - Functions of f64 as arithmetic -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RealFunctions.h"
#include "lib/Codegen/Angle.h"
#include "lib/Codegen/RealRemainder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace divisi;

using Predicate = arith::CmpFPredicate;

/// The logarithm of 2, the first part of which has 32 bits.
static constexpr double ln2High = 0x1.62e42feep-1,
                        ln2Low = 0x1.a39ef35793c76p-33;

static Real magnitude(Real x) { return x.apply<math::AbsFOp>(); }
static Real root(Real x) { return x.apply<math::SqrtOp>(); }

/// The sum of coefficient(k) * x^k for k below `terms`.
static Real series(Real x, int terms, double (*coefficient)(int k)) {
  Real sum = x.number(coefficient(terms - 1));
  for (int k = terms - 2; k >= 0; --k) {
    sum = sum * x + coefficient(k);
  }
  return sum;
}

/// 1 / (k + `First`)!
template <int First> static double inverseFactorial(int k) {
  return 1 / std::tgamma(k + First + 1);
}
/// Of sin x / x, in x^2.
static double sineTerm(int k) {
  return (k % 2 ? -1 : 1) / std::tgamma(2 * k + 2);
}
/// Of cos x, in x^2.
static double cosineTerm(int k) {
  return (k % 2 ? -1 : 1) / std::tgamma(2 * k + 1);
}
/// Of atanh x / x, in x^2.
static double oddTerm(int k) { return 1.0 / (2 * k + 1); }
/// Of atan x / x, in x^2.
static double signedOddTerm(int k) {
  return (k % 2 ? -1.0 : 1.0) / (2 * k + 1);
}

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

/// 2^n * exp r, r being at most half of log 2.
static Real exponential(Real x) {
  ImplicitLocOpBuilder &b = *x.b;
  Value isNan = x.is(Predicate::UNO, x);
  Real bounded = x.number(-750).where(x.is(Predicate::OLT, -750.0), x);
  bounded = x.number(710).where(bounded.is(Predicate::OGT, 710.0), bounded);
  bounded = x.number(0).where(isNan, bounded);
  Real count = (bounded * 0x1.71547652b82fep+0).apply<math::RoundEvenOp>();
  Real rest = (bounded - count * ln2High) - count * ln2Low;
  Real power = series(rest, 14, inverseFactorial<0>);
  Value whole = arith::FPToSIOp::create(b, b.getI64Type(), count.value);
  return x.where(isNan, scaled(power, whole));
}

/// exp x - 1.
static Real exponentialLess1(Real x) {
  Real small = x * series(x, 15, inverseFactorial<1>);
  return small.where(magnitude(x).is(Predicate::OLT, 0.4), exponential(x) - 1);
}

/// x = 2^e * m, with m around 1: log m = 2 atanh((m - 1) / (m + 1)).
static Real logarithm(Real x) {
  ImplicitLocOpBuilder &b = *x.b;
  auto whole = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value isTiny = x.is(Predicate::OLT, 0x1p-1022);
  Value bits = (x * 0x1p54).where(isTiny, x).bits();
  Value exponent = arith::ShRSIOp::create(b, bits, whole(52));
  Value fraction = arith::AndIOp::create(b, bits, whole((1ll << 52) - 1));
  Real m =
      x.ofBits(arith::OrIOp::create(b, fraction, whole(int64_t(1023) << 52)));
  Value isLarge = m.is(Predicate::OGT, 0x1.6a09e667f3bcdp+0);
  m = (m * 0.5).where(isLarge, m);
  Real e{&b, arith::SIToFPOp::create(b, b.getF64Type(), exponent)};
  e = (e - 1022).where(isLarge, e - 1023);
  e = (e - 54).where(isTiny, e);
  Real s = (m - 1) / (m + 1);
  Real log = e * ln2High + (e * ln2Low + s * series(s * s, 12, oddTerm) * 2);
  log = x.where(x.is(Predicate::UEQ, INFINITY), log); // also NaN
  log = x.number(-INFINITY).where(x.is(Predicate::OEQ, 0.0), log);
  return x.number(NAN).where(x.is(Predicate::OLT, 0.0), log);
}

/// log(1 + x): what the sum loses is added.
static Real logarithmOf1Plus(Real x) {
  Real sum = x + 1;
  Real log = logarithm(sum) - ((sum - 1) - x) / sum;
  return sum.where(sum.is(Predicate::UEQ, INFINITY), log);
}

//===----------------------------------------------------------------------===//
// Of angles
//===----------------------------------------------------------------------===//

/// The sine of an angle that is `shift` quarter turns more.
static Real sineOf(Real x, const Angle &angle, int64_t shift) {
  ImplicitLocOpBuilder &b = *x.b;
  auto whole = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Real square = angle.rest * angle.rest;
  Real sine = angle.rest * series(square, 9, sineTerm);
  Real cosine = series(square, 10, cosineTerm);
  Value quarters = arith::AddIOp::create(b, angle.quarters, whole(shift));
  auto hasBit = [&](int64_t bit) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                 arith::AndIOp::create(b, quarters, whole(bit)),
                                 whole(0));
  };
  Real value = cosine.where(hasBit(1), sine);
  value = (-value).where(hasBit(2), value);
  // Of infinity it is no number.
  return value.where(magnitude(x).is(Predicate::OLT, INFINITY), x - x);
}

static Real sine(Real x) { return sineOf(x, reduceAngle(x), 0); }
static Real cosine(Real x) { return sineOf(x, reduceAngle(x), 1); }
static Real tangent(Real x) {
  Angle angle = reduceAngle(x);
  return sineOf(x, angle, 0) / sineOf(x, angle, 1);
}

/// Of 1/x beyond 1, and less an eighth of a turn beyond its tangent's half.
static Real arcTangent(Real x) {
  Real a = magnitude(x);
  Value isInverse = a.is(Predicate::OGT, 1.0);
  Real t = (1 / a).where(isInverse, a);
  Value isLarge = t.is(Predicate::OGT, 0x1.a827999fcef32p-2);
  Real u = ((t - 1) / (t + 1)).where(isLarge, t);
  Real angle = u * series(u * u, 22, signedOddTerm);
  angle = (angle + 0x1.921fb54442d18p-1).where(isLarge, angle);
  angle = (0x1.921fb54442d18p+0 - angle).where(isInverse, angle);
  return angle.withSignOf(x);
}

static Real arcSine(Real x) { return arcTangent(x / root((1 - x) * (x + 1))); }

static Real arcCosine(Real x) {
  return arcTangent(root((1 - x) / (x + 1))) * 2;
}

//===----------------------------------------------------------------------===//
// Hyperbolic
//===----------------------------------------------------------------------===//

static Real hyperbolicSine(Real x) {
  Real a = magnitude(x);
  Real less1 = exponentialLess1(a), half = exponential(a * 0.5);
  Real value = (less1 + less1 / (less1 + 1)) * 0.5;
  return (half * 0.5 * half)
      .where(a.is(Predicate::OGT, 40.0), value)
      .withSignOf(x);
}

static Real hyperbolicCosine(Real x) {
  Real a = magnitude(x);
  Real e = exponential(a), half = exponential(a * 0.5);
  return (half * 0.5 * half)
      .where(a.is(Predicate::OGT, 40.0), (e + 1 / e) * 0.5);
}

static Real hyperbolicTangent(Real x) {
  Real a = magnitude(x);
  Real less1 = exponentialLess1(a * 2);
  return x.number(1)
      .where(a.is(Predicate::OGT, 20.0), less1 / (less1 + 2))
      .withSignOf(x);
}

static Real inverseSinh(Real x) {
  Real a = magnitude(x);
  Real square = a * a;
  Real small = logarithmOf1Plus(a + square / (root(square + 1) + 1));
  return (logarithm(a) + 0x1.62e42fefa39efp-1)
      .where(a.is(Predicate::OGT, 0x1p28), small)
      .withSignOf(x);
}

static Real inverseCosh(Real x) {
  Real t = x - 1;
  Real small = logarithmOf1Plus(t + root(t * 2 + t * t));
  Real value = (logarithm(x) + 0x1.62e42fefa39efp-1)
                   .where(x.is(Predicate::OGT, 0x1p28), small);
  return x.number(NAN).where(x.is(Predicate::OLT, 1.0), value);
}

static Real inverseTanh(Real x) {
  Real a = magnitude(x);
  return (logarithmOf1Plus(a * 2 / (1 - a)) * 0.5).withSignOf(x);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// 2/sqrt(pi) * exp(-x^2) times the sum of x * (2 x^2)^n / (1 * 3 * ... * (2 n
/// + 1)), whose terms all have one sign.
static Real errorFunction(Real x) {
  ImplicitLocOpBuilder &b = *x.b;
  Real a = magnitude(x);
  a = x.number(6).where(a.is(Predicate::OGT, 6.0), a);
  Real square = a * a;
  auto whole = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value begins[] = {a.value, a.value, x.number(3).value};
  auto loop =
      scf::ForOp::create(b, whole(0), whole(150), whole(1), ValueRange(begins));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange last = loop.getRegionIterArgs();
    Real sum{&b, last[0]}, term{&b, last[1]}, odd{&b, last[2]};
    term = term * (square * 2 / odd);
    scf::YieldOp::create(
        b, ValueRange{(sum + term).value, term.value, (odd + 2).value});
  }
  Real sum{&b, loop.getResult(0)};
  Real value = sum * exponential(-square) * 0x1.20dd750429b6dp+0;
  value = x.number(1).where(a.is(Predicate::OEQ, 6.0), value);
  return value.withSignOf(x);
}

/// exp(y * log |x|), but for what that leaves open. Squares and cubes are
/// products.
static Real power(Real x, Real y) {
  ImplicitLocOpBuilder &b = *x.b;
  auto both = [&](Value first, Value second) -> Value {
    return arith::AndIOp::create(b, first, second);
  };
  Real value = exponential(y * logarithm(magnitude(x)));
  Real floor = y.apply<math::FloorOp>(), half = y * 0.5;
  Value isWhole = y.is(Predicate::OEQ, floor);
  Value isOdd =
      both(isWhole, half.is(Predicate::UNE, half.apply<math::FloorOp>()));
  value = value.withSignOf(x).where(isOdd, value);
  Value isNegative =
      both(x.is(Predicate::OLT, 0.0), x.is(Predicate::OGT, -INFINITY));
  Value isBroken = both(isNegative, y.is(Predicate::ONE, floor));
  value = x.number(NAN).where(isBroken, value);
  Value isOne = arith::OrIOp::create(b, x.is(Predicate::OEQ, 1.0),
                                     y.is(Predicate::OEQ, 0.0));
  // Minus 1 to an infinite power.
  Value isEdge = both(x.is(Predicate::OEQ, -1.0),
                      magnitude(y).is(Predicate::OEQ, INFINITY));
  value = x.number(1).where(arith::OrIOp::create(b, isOne, isEdge), value);
  value = (x * x).where(y.is(Predicate::OEQ, 2.0), value);
  return (x * x * x).where(y.is(Predicate::OEQ, 3.0), value);
}

Value divisi::emitReal(ImplicitLocOpBuilder &builder, Function function,
                       ValueRange operands) {
  using enum Function;
  Real x{&builder, operands[0]};
  switch (function) {
  case Exp:
    return exponential(x).value;
  case Log:
    return logarithm(x).value;
  case Erf:
    return errorFunction(x).value;
  case Tanh:
    return hyperbolicTangent(x).value;
  case Sin:
    return sine(x).value;
  case Cos:
    return cosine(x).value;
  case Tan:
    return tangent(x).value;
  case Asin:
    return arcSine(x).value;
  case Acos:
    return arcCosine(x).value;
  case Atan:
    return arcTangent(x).value;
  case Sinh:
    return hyperbolicSine(x).value;
  case Cosh:
    return hyperbolicCosine(x).value;
  case Asinh:
    return inverseSinh(x).value;
  case Acosh:
    return inverseCosh(x).value;
  case Atanh:
    return inverseTanh(x).value;
  case Pow:
    return power(x, {&builder, operands[1]}).value;
  case FMod:
    return remainder(x, {&builder, operands[1]}).value;
  default:
    llvm_unreachable("all machines have it");
  }
}
