//===- Angle.cpp - Angles less quarter turns ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Angle.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace divisi;

using Predicate = arith::CmpFPredicate;

/// 2/pi: nothing before the point, then 1216 bits behind it.
static constexpr uint64_t twoOverPi[] = {0,
                                         0xa2f9836e4e441529,
                                         0xfc2757d1f534ddc0,
                                         0xdb6295993c439041,
                                         0xfe5163abdebbc561,
                                         0xb7246e3a424dd2e0,
                                         0x06492eea09d1921c,
                                         0xfe1deb1cb129a73e,
                                         0xe88235f52ebb4484,
                                         0xe99c7026b45f7e41,
                                         0x3991d639835339f4,
                                         0x9c845f8bbdf9283b,
                                         0x1ff897ffde05980f,
                                         0xef2f118b5a0a6d1f,
                                         0x6d367ecf27cb09b7,
                                         0x4f463f669e5fea2d,
                                         0x7527bac7ebe5f17b,
                                         0x3d0739f78a5292ea,
                                         0x6bfb5fb11f8d5d08,
                                         0x56033046fc7b6bab};

namespace {

/// Integers of any width.
class Bits {
public:
  explicit Bits(ImplicitLocOpBuilder &builder) : b_(builder) {}

  Type type(unsigned width) { return b_.getIntegerType(width); }
  Value number(unsigned width, int64_t value) {
    return arith::ConstantOp::create(
        b_,
        b_.getIntegerAttr(type(width), APInt(width, uint64_t(value), true)));
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b_, x, y);
  }
  template <typename Op> Value make(Value x, int64_t y) {
    return Op::create(b_, x, number(x.getType().getIntOrFloatBitWidth(), y));
  }
  Value extend(Value x, unsigned width) {
    return arith::ExtUIOp::create(b_, type(width), x);
  }
  Value truncate(Value x, unsigned width) {
    return arith::TruncIOp::create(b_, type(width), x);
  }

private:
  ImplicitLocOpBuilder &b_;
};

} // namespace

/// 256 bits of 2/pi from bit `first` of the table on.
static Value windowFrom(ImplicitLocOpBuilder &b, Value first) {
  Bits bits(b);
  auto type = VectorType::get(std::size(twoOverPi), b.getI64Type());
  Value table = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<uint64_t>(twoOverPi)));
  Value word = bits.make<arith::ShRUIOp>(first, 6);
  Value window = bits.number(256, 0);
  for (int64_t i = 0; i < 4; ++i) {
    Value at = arith::IndexCastOp::create(b, b.getIndexType(),
                                          bits.make<arith::AddIOp>(word, i));
    Value own = vector::ExtractOp::create(b, table, OpFoldResult(at));
    window = bits.make<arith::OrIOp>(bits.make<arith::ShLIOp>(window, 64),
                                     bits.extend(own, 256));
  }
  Value shift = bits.extend(bits.make<arith::AndIOp>(first, 63), 256);
  return bits.make<arith::ShLIOp>(window, shift);
}

/// x = m * 2^e: of m * (2^(e-2) * 2/pi) what is behind the point is the share
/// of a turn.
static Angle reduceLarge(Real x) {
  ImplicitLocOpBuilder &b = *x.b;
  Bits bits(b);
  Value all = x.apply<math::AbsFOp>().bits();
  constexpr int64_t hidden = int64_t(1) << 52;
  Value exponent = bits.make<arith::ShRUIOp>(all, 52);
  Value mantissa = bits.make<arith::OrIOp>(
      bits.make<arith::AndIOp>(all, hidden - 1), hidden);
  // e = exponent - 1075, of which the table begins 64 bits earlier.
  Value first = bits.make<arith::SubIOp>(exponent, 1075 + 2 - 64);
  Value window =
      bits.truncate(bits.make<arith::ShRUIOp>(windowFrom(b, first), 64), 192);
  Value share = bits.make<arith::MulIOp>(window, bits.extend(mantissa, 192));
  // The nearest quarter: an eighth more, and less again.
  Value eighth = bits.make<arith::ShLIOp>(bits.number(192, 1), 189);
  Value shifted = bits.make<arith::AddIOp>(share, eighth);
  Value quarters = bits.truncate(bits.make<arith::ShRUIOp>(shifted, 190), 64);
  Value mask = bits.make<arith::ShRUIOp>(bits.number(192, -1), 2);
  Value rest =
      bits.make<arith::SubIOp>(bits.make<arith::AndIOp>(shifted, mask), eighth);
  Value high = bits.truncate(bits.make<arith::ShRUIOp>(rest, 128), 64);
  Value low = bits.truncate(bits.make<arith::ShRUIOp>(rest, 64), 64);
  Real turn{&b, arith::SIToFPOp::create(b, b.getF64Type(), high)};
  Real more{&b, arith::UIToFPOp::create(b, b.getF64Type(), low)};
  Real angle = (turn * 0x1p64 + more) * 0x1.921fb54442d18p-126; // 2 pi / 2^128
  Value isNegative = x.is(Predicate::OLT, 0.0);
  return {arith::SelectOp::create(
              b, isNegative,
              bits.make<arith::SubIOp>(bits.number(64, 0), quarters), quarters),
          (-angle).where(isNegative, angle)};
}

/// pi/2 in three parts, of which the first two have 33 bits: their products
/// with numbers of 20 bits are exact.
static Angle reduceSmall(Real x) {
  Real count = (x * 0x1.45f306dc9c883p-1).apply<math::RoundEvenOp>();
  Real rest = ((x - count * 0x1.921fb544p+0) - count * 0x1.0b4611a6p-34) -
              count * 0x1.3198a2e037073p-69;
  return {arith::FPToSIOp::create(*x.b, x.b->getI64Type(), count.value), rest};
}

Angle divisi::reduceAngle(Real x) {
  ImplicitLocOpBuilder &b = *x.b;
  Value isSmall = x.apply<math::AbsFOp>().is(Predicate::OLT, 0x1p20);
  Value isFinite = x.apply<math::AbsFOp>().is(Predicate::OLT, INFINITY);
  Real finite = x.where(isFinite, x.number(0x1p20));
  Type types[] = {b.getI64Type(), b.getF64Type()};
  auto branch = scf::IfOp::create(b, types, isSmall, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block *block, Angle (*reduce)(Real), Real of) {
    b.setInsertionPointToStart(block);
    Angle angle = reduce(of);
    scf::YieldOp::create(b, ValueRange{angle.quarters, angle.rest.value});
  };
  fill(branch.thenBlock(), reduceSmall, x);
  fill(branch.elseBlock(), reduceLarge, finite);
  return {branch.getResult(0), {&b, branch.getResult(1)}};
}
