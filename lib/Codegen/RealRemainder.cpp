//===- RealRemainder.cpp - What a division leaves -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RealRemainder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace divisi;

using Predicate = arith::CmpFPredicate;
using Order = arith::CmpIPredicate;

static Value whole(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, 64);
}

/// By two powers: the one may be no number.
Real divisi::scaled(Real x, Value power) {
  ImplicitLocOpBuilder &b = *x.b;
  auto powerOfTwo = [&](Value own) {
    Value biased = arith::AddIOp::create(b, own, whole(b, 1023));
    return x.ofBits(arith::ShLIOp::create(b, biased, whole(b, 52)));
  };
  Value half = arith::ShRSIOp::create(b, power, whole(b, 1));
  return x * powerOfTwo(half) *
         powerOfTwo(arith::SubIOp::create(b, power, half));
}

namespace {

/// A positive number as mantissa * 2^exponent; the mantissa has 53 bits.
struct Parts {
  Value mantissa, exponent;
};

} // namespace

static Parts partsOf(Real x) {
  ImplicitLocOpBuilder &b = *x.b;
  // What has no leading bit is brought above the least that has one.
  Value isTiny = x.is(Predicate::OLT, 0x1p-1022);
  Value bits = (x * 0x1p54).where(isTiny, x).bits();
  Value fraction =
      arith::AndIOp::create(b, bits, whole(b, (int64_t(1) << 52) - 1));
  Value exponent = arith::SubIOp::create(
      b, arith::ShRUIOp::create(b, bits, whole(b, 52)), whole(b, 1075));
  Value less = arith::SelectOp::create(b, isTiny, whole(b, 54), whole(b, 0));
  return {arith::OrIOp::create(b, fraction, whole(b, int64_t(1) << 52)),
          arith::SubIOp::create(b, exponent, less)};
}

/// Division by hand, bit by bit of the quotient: what is left of x's mantissa.
static Value divideMantissas(ImplicitLocOpBuilder &b, const Parts &x,
                             const Parts &y) {
  auto less = [&](Value rest) -> Value {
    Value isLess = arith::CmpIOp::create(b, Order::ult, rest, y.mantissa);
    return arith::SelectOp::create(b, isLess, rest,
                                   arith::SubIOp::create(b, rest, y.mantissa));
  };
  Value steps = arith::SubIOp::create(b, x.exponent, y.exponent);
  auto loop = scf::ForOp::create(b, whole(b, 0), steps, whole(b, 1),
                                 ValueRange{less(x.mantissa)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value twice =
      arith::ShLIOp::create(b, loop.getRegionIterArgs()[0], whole(b, 1));
  scf::YieldOp::create(b, ValueRange{less(twice)});
  return loop.getResult(0);
}

Real divisi::remainder(Real x, Real y) {
  ImplicitLocOpBuilder &b = *x.b;
  Real a = x.apply<math::AbsFOp>(), d = y.apply<math::AbsFOp>();
  // What is divided: something for which there is something to do.
  Value isLess = a.is(Predicate::OLT, d);
  Value isFinite = a.is(Predicate::OLT, INFINITY);
  Value isDivided = arith::AndIOp::create(
      b, arith::AndIOp::create(b, a.is(Predicate::OGE, d), isFinite),
      d.is(Predicate::OGT, 0.0));
  Parts of = partsOf(a.where(isDivided, a.number(1)));
  Parts by = partsOf(d.where(isDivided, a.number(1)));
  Value rest = divideMantissas(b, of, by);
  Real value{&b, arith::SIToFPOp::create(b, b.getF64Type(), rest)};
  value = scaled(value, by.exponent).where(isDivided, x.number(NAN));
  return a.where(arith::AndIOp::create(b, isLess, isFinite), value)
      .withSignOf(x);
}
