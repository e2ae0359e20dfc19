//===- IntegerFunctions.cpp - Functions of integers -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/TypedFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace divisi;

using Predicate = arith::CmpIPredicate;

namespace {

/// Operations on integers of one type, or on vectors of logical values.
struct Integers {
  ImplicitLocOpBuilder &b;
  Type type;
  bool isUnsigned;

  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b, x, y);
  }
  template <typename Signed, typename Unsigned> Value makeBy(Value x, Value y) {
    return isUnsigned ? make<Unsigned>(x, y) : make<Signed>(x, y);
  }
  Value number(int64_t value) {
    APInt bits(type.getIntOrFloatBitWidth(), uint64_t(value), true, true);
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, bits));
  }
  /// `predicate` as for numbers with a sign.
  Value is(Predicate predicate, Value x, Value y) {
    if (isUnsigned && predicate >= Predicate::slt &&
        predicate <= Predicate::sge) {
      predicate = Predicate(uint64_t(predicate) + uint64_t(Predicate::ult) -
                            uint64_t(Predicate::slt));
    }
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  Value isZero(Value x) { return is(Predicate::eq, x, number(0)); }
  Value isNegative(Value x) { return is(Predicate::slt, x, number(0)); }
  Value isMinusOne(Value x) {
    return isUnsigned ? is(Predicate::ult, x, x)
                      : is(Predicate::eq, x, number(-1));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  /// All bits, also of a vector.
  Value ones() {
    if (auto vector = dyn_cast<VectorType>(type)) {
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, true));
    }
    return number(-1);
  }
  Value negated(Value x) { return make<arith::SubIOp>(number(0), x); }

  /// By 0 and -1 nothing is divided: the one has no quotient, and that of the
  /// other may not fit.
  Value divisor(Value y) {
    return select(make<arith::OrIOp>(isZero(y), isMinusOne(y)), number(1), y);
  }
  Value quotient(Value x, Value y) {
    Value whole = makeBy<arith::DivSIOp, arith::DivUIOp>(x, divisor(y));
    return select(isZero(y), number(0),
                  select(isMinusOne(y), negated(x), whole));
  }
  Value rest(Value x, Value y) {
    Value rest = makeBy<arith::RemSIOp, arith::RemUIOp>(x, divisor(y));
    return select(isZero(y), number(0), rest);
  }
  Value floorRest(Value x, Value y) {
    Value own = rest(x, y);
    Value differs = make<arith::XOrIOp>(isNegative(own), isNegative(y));
    Value isOther =
        make<arith::AndIOp>(is(Predicate::ne, own, number(0)), differs);
    return select(isOther, make<arith::AddIOp>(own, y), own);
  }
  /// What an integer machine leaves open: more places than there are bits.
  Value shifted(Value x, Value places, bool isLeft) {
    auto width = int64_t(type.getIntOrFloatBitWidth());
    Value isOut =
        arith::CmpIOp::create(b, Predicate::uge, places, number(width));
    Value inside = select(isOut, number(0), places);
    if (isLeft) {
      return select(isOut, number(0), make<arith::ShLIOp>(x, inside));
    }
    Value all = select(isNegative(x), number(-1), number(0));
    return select(isOut, all,
                  makeBy<arith::ShRSIOp, arith::ShRUIOp>(x, inside));
  }
  Value power(Value base, Value exponent);
};

} // namespace

/// By squares, one for each bit of the exponent.
Value Integers::power(Value base, Value exponent) {
  auto count = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  auto isOdd = [&](Value x) {
    return is(Predicate::ne, make<arith::AndIOp>(x, number(1)), number(0));
  };
  Value begins[] = {number(1), base, exponent};
  auto loop =
      scf::ForOp::create(b, count(0), count(type.getIntOrFloatBitWidth()),
                         count(1), ValueRange(begins));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange last = loop.getRegionIterArgs();
    Value product =
        select(isOdd(last[2]), make<arith::MulIOp>(last[0], last[1]), last[0]);
    scf::YieldOp::create(
        b, ValueRange{product, make<arith::MulIOp>(last[1], last[1]),
                      make<arith::ShRUIOp>(last[2], number(1))});
  }
  // Of a negative power, which truncates, only that of 1 and -1 is left.
  Value ofMinusOne = select(isOdd(exponent), number(-1), number(1));
  Value inverse = select(is(Predicate::eq, base, number(1)), number(1),
                         select(isMinusOne(base), ofMinusOne, number(0)));
  return select(isNegative(exponent), inverse, loop.getResult(0));
}

static std::optional<Predicate> predicateOf(Function function) {
  switch (function) {
  case Function::Eq:
    return Predicate::eq;
  case Function::Ne:
    return Predicate::ne;
  case Function::Lt:
    return Predicate::slt;
  case Function::Le:
    return Predicate::sle;
  case Function::Gt:
    return Predicate::sgt;
  case Function::Ge:
    return Predicate::sge;
  default:
    return std::nullopt;
  }
}

/// Functions of one number.
static Value emitUnary(Integers ops, Function function, Value x) {
  switch (function) {
  case Function::Neg:
    return ops.negated(x);
  case Function::Abs:
    return ops.select(ops.isNegative(x), ops.negated(x), x);
  case Function::Sign: {
    Value positive = ops.select(ops.is(Predicate::sgt, x, ops.number(0)),
                                ops.number(1), ops.number(0));
    return ops.select(ops.isNegative(x), ops.number(-1), positive);
  }
  case Function::Relu:
    return ops.select(ops.isNegative(x), ops.number(0), x);
  case Function::Not:
    return ops.make<arith::XOrIOp>(x, ops.ones());
  default:
    llvm_unreachable("a function of floats");
  }
}

Value divisi::emitInteger(ImplicitLocOpBuilder &builder, Function function,
                          rt::DType type, ValueRange operands) {
  using enum Function;
  Value x = operands[0];
  Integers ops{builder, x.getType(), isUnsigned(type)};
  if (operands.size() == 1) {
    return emitUnary(ops, function, x);
  }
  Value y = operands[1];
  if (auto predicate = predicateOf(function)) {
    return ops.is(*predicate, x, y);
  }
  switch (function) {
  case Add:
    return ops.make<arith::AddIOp>(x, y);
  case Sub:
    return ops.make<arith::SubIOp>(x, y);
  case Mul:
    return ops.make<arith::MulIOp>(x, y);
  case Div:
    return ops.quotient(x, y);
  case Max:
    return ops.makeBy<arith::MaxSIOp, arith::MaxUIOp>(x, y);
  case Min:
    return ops.makeBy<arith::MinSIOp, arith::MinUIOp>(x, y);
  case And:
    return ops.make<arith::AndIOp>(x, y);
  case Or:
    return ops.make<arith::OrIOp>(x, y);
  case Xor:
    return ops.make<arith::XOrIOp>(x, y);
  case FMod:
    return ops.rest(x, y);
  case FloorMod:
    return ops.floorRest(x, y);
  case ShiftLeft:
    return ops.shifted(x, y, true);
  case ShiftRight:
    return ops.shifted(x, y, false);
  case Pow:
    return ops.power(x, y);
  default:
    llvm_unreachable("a function of floats");
  }
}
