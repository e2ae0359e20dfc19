//===- CastFunctions.cpp - From one element type to another ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They are what Element.h and Storage.h say, bit by bit.
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/TypedFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace divisi;

using rt::DType;
using Order = arith::CmpIPredicate;
using Predicate = arith::CmpFPredicate;

namespace {

/// A float in a byte, as rt::Float8.
struct Float8 {
  int64_t mantissaBits, bias, infinity, nan, largest;

  static Float8 of(DType type) {
    return type == DType::F8E5M2 ? Float8{2, 15, 0x7c, 0x7e, 0x7b}
                                 : Float8{3, 7, -1, 0x7f, 0x7e};
  }
  bool hasInfinity() const { return infinity >= 0; }
};

/// Converts scalars.
class Converter {
public:
  explicit Converter(ImplicitLocOpBuilder &builder) : b_(builder) {}

  Value toBool(DType from, Value value);
  Value toInteger(DType from, DType to, Value value);
  Value toFloat(DType from, DType to, bool isOdd, Value value);
  Value fromFloat8(DType from, Value code);
  Value toFloat8(DType to, bool saturates, Value value);
  Value toNibble(DType from, DType to, Value value);

private:
  Value integer(Type type, int64_t value) {
    return arith::ConstantOp::create(
        b_, b_.getIntegerAttr(type, APInt(type.getIntOrFloatBitWidth(),
                                          uint64_t(value), true, true)));
  }
  Value real(Type type, double value) {
    return arith::ConstantOp::create(b_, b_.getFloatAttr(type, value));
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b_, x, y);
  }
  template <typename Op> Value make(Value x, int64_t y) {
    return Op::create(b_, x, integer(x.getType(), y));
  }
  template <typename Op> Value to(Type type, Value x) {
    return Op::create(b_, type, x);
  }
  Value is(Order order, Value x, int64_t y) {
    return arith::CmpIOp::create(b_, order, x, integer(x.getType(), y));
  }
  Value is(Predicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b_, predicate, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b_, condition, yes, no);
  }
  Value bits(Value x) { return to<arith::BitcastOp>(i32(), x); }
  Value ofBits(Value x) { return to<arith::BitcastOp>(f32(), x); }
  Type i32() { return b_.getI32Type(); }
  Type f32() { return b_.getF32Type(); }
  Type f64() { return b_.getF64Type(); }

  Value fromInteger(DType from, Type type, Value value);
  Value toDoubleOdd(DType from, Value value);
  Value roundToOdd(Value value);
  Value saturate(DType to, Value value);

  ImplicitLocOpBuilder &b_;
};

} // namespace

static bool isFloat8(DType type) {
  return type == DType::F8E4M3FN || type == DType::F8E5M2;
}

static bool isNibble(DType type) {
  return type == DType::I4 || type == DType::U4;
}

Value Converter::toBool(DType from, Value value) {
  return rt::isFloatType(from)
             ? is(Predicate::UNE, value, real(value.getType(), 0))
             : is(Order::ne, value, 0);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// rt::saturateTo().
Value Converter::saturate(DType to, Value value) {
  Type type = value.getType(), whole = storedElement(b_, to);
  unsigned width = whole.getIntOrFloatBitWidth();
  bool hasSign = !isUnsigned(to);
  Value limit = real(type, std::ldexp(1.0, int(width - hasSign)));
  Value least = real(type, hasSign ? -std::ldexp(1.0, int(width - 1)) : 0);
  Value isBelow = is(Predicate::OLT, value, limit);
  Value isAbove = is(Predicate::OGT, value, least);
  Value isInside = make<arith::AndIOp>(isBelow, isAbove);
  Value inside = select(isInside, value, real(type, 0));
  Value number = hasSign ? this->to<arith::FPToSIOp>(whole, inside)
                         : this->to<arith::FPToUIOp>(whole, inside);
  auto bound = [&](bool isMost) -> Value {
    APInt bits = hasSign ? (isMost ? APInt::getSignedMaxValue(width)
                                   : APInt::getSignedMinValue(width))
                         : (isMost ? APInt::getMaxValue(width)
                                   : APInt::getMinValue(width));
    return arith::ConstantOp::create(b_, b_.getIntegerAttr(whole, bits));
  };
  number = select(is(Predicate::OGE, value, limit), bound(true), number);
  return select(is(Predicate::OLE, value, least), bound(false), number);
}

Value Converter::toInteger(DType from, DType to, Value value) {
  if (rt::isFloatType(from)) {
    return saturate(to, value);
  }
  Type whole = storedElement(b_, to);
  unsigned own = value.getType().getIntOrFloatBitWidth();
  unsigned wanted = whole.getIntOrFloatBitWidth();
  return own == wanted      ? value
         : own > wanted     ? this->to<arith::TruncIOp>(whole, value)
         : isUnsigned(from) ? this->to<arith::ExtUIOp>(whole, value)
                            : this->to<arith::ExtSIOp>(whole, value);
}

/// By way of i32; the byte that holds it is its value's.
Value Converter::toNibble(DType from, DType to, Value value) {
  Value number = make<arith::AndIOp>(toInteger(from, DType::I32, value), 15);
  if (to == DType::I4) {
    number = make<arith::SubIOp>(make<arith::XOrIOp>(number, 8), 8);
  }
  return this->to<arith::TruncIOp>(b_.getI8Type(), number);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value Converter::fromInteger(DType from, Type type, Value value) {
  return isUnsigned(from) ? to<arith::UIToFPOp>(type, value)
                          : to<arith::SIToFPOp>(type, value);
}

/// rt::toDoubleOdd().
Value Converter::toDoubleOdd(DType from, Value value) {
  if (value.getType().getIntOrFloatBitWidth() < 64) {
    return fromInteger(from, f64(), value);
  }
  Value isNegative =
      isUnsigned(from) ? Value() : is(Order::slt, value, int64_t(0));
  Value magnitude =
      isNegative
          ? select(isNegative,
                   make<arith::SubIOp>(integer(value.getType(), 0), value),
                   value)
          : value;
  Value isLarge = is(Order::ne, make<arith::ShRUIOp>(magnitude, 53), 0);
  Value rest = make<arith::AndIOp>(magnitude, 0x7ff);
  Value sticky = select(is(Order::ne, rest, 0), integer(value.getType(), 0x800),
                        integer(value.getType(), 0));
  Value odd = make<arith::OrIOp>(make<arith::SubIOp>(magnitude, rest), sticky);
  Value number = to<arith::UIToFPOp>(f64(), select(isLarge, odd, magnitude));
  return isNegative
             ? select(isNegative, arith::NegFOp::create(b_, number), number)
             : number;
}

/// rt::roundToOdd(), of f64.
Value Converter::roundToOdd(Value value) {
  Value near = to<arith::TruncFOp>(f32(), value);
  Value back = to<arith::ExtFOp>(f64(), near), own = bits(near);
  Value isOdd = is(Order::ne, make<arith::AndIOp>(own, 1), 0);
  Value isDone =
      make<arith::OrIOp>(isOdd, is(Predicate::UEQ, back, value)); // also NaN
  Value isTooFar = is(Predicate::OGT, math::AbsFOp::create(b_, back),
                      math::AbsFOp::create(b_, value));
  Value other = select(isTooFar, make<arith::SubIOp>(own, 1),
                       make<arith::AddIOp>(own, 1));
  return select(isDone, near, ofBits(other));
}

Value Converter::toFloat(DType from, DType to, bool isOdd, Value value) {
  Type type = to == DType::F64 ? f64() : f32();
  if (rt::isFloatType(from)) {
    Type own = value.getType();
    return own == type   ? value
           : own.isF32() ? this->to<arith::ExtFOp>(type, value)
           : isOdd       ? roundToOdd(value)
                         : this->to<arith::TruncFOp>(type, value);
  }
  return isOdd ? roundToOdd(toDoubleOdd(from, value))
               : fromInteger(from, type, value);
}

/// As rt::Float8's conversion: exponent and mantissa lie as in f32, 2^(127 -
/// bias) times too small.
Value Converter::fromFloat8(DType from, Value code) {
  Float8 format = Float8::of(from);
  Value all = to<arith::ExtUIOp>(i32(), code);
  Value magnitude = make<arith::AndIOp>(all, 0x7f);
  Value sign = make<arith::ShLIOp>(make<arith::AndIOp>(all, 0x80), 24);
  Value scaled = make<arith::MulFOp>(
      ofBits(make<arith::ShLIOp>(magnitude, 23 - format.mantissaBits)),
      real(f32(), std::ldexp(1.0, int(127 - format.bias))));
  Value isSpecial = format.hasInfinity()
                        ? is(Order::uge, magnitude, format.infinity)
                        : is(Order::eq, magnitude, format.nan);
  Value special =
      select(is(Order::eq, magnitude, format.infinity),
             integer(i32(), 0x7f800000), integer(i32(), 0x7fc00000));
  Value value = select(isSpecial, special, bits(scaled));
  return ofBits(make<arith::OrIOp>(value, sign));
}

/// As rt::Float8's constructor.
Value Converter::toFloat8(DType to, bool saturates, Value value) {
  Float8 format = Float8::of(to);
  int64_t shift = 23 - format.mantissaBits;
  int64_t rebias = (127 - format.bias) << 23;
  Value unit =
      real(f32(),
           std::ldexp(1.0, int(151 - format.bias - format.mantissaBits - 127)));
  Value all = bits(value);
  Value magnitude = make<arith::AndIOp>(all, 0x7fffffff);
  Value small = make<arith::SubIOp>(
      bits(make<arith::AddFOp>(ofBits(magnitude), unit)), bits(unit));
  Value half = make<arith::AndIOp>(make<arith::ShRUIOp>(magnitude, shift), 1);
  Value rounded = make<arith::AddIOp>(
      magnitude, ((int64_t(1) << (shift - 1)) - 1) - rebias);
  Value normal =
      make<arith::ShRUIOp>(make<arith::AddIOp>(rounded, half), shift);
  Value code =
      select(is(Order::ult, magnitude, rebias + (1 << 23)), small, normal);
  int64_t beyond = saturates              ? format.largest
                   : format.hasInfinity() ? format.infinity
                                          : format.nan;
  code = select(is(Order::ugt, code, format.largest), integer(i32(), beyond),
                code);
  code = select(is(Order::ugt, magnitude, 0x7f800000),
                integer(i32(), format.nan), code);
  Value sign = make<arith::AndIOp>(make<arith::ShRUIOp>(all, 24), 0x80);
  return this->to<arith::TruncIOp>(b_.getI8Type(),
                                   make<arith::OrIOp>(code, sign));
}

Value divisi::emitCast(ImplicitLocOpBuilder &builder, Function how, DType from,
                       DType to, Value value) {
  Converter converter(builder);
  if (isFloat8(from)) {
    value = converter.fromFloat8(from, value);
    from = DType::F32;
  }
  if (to == DType::Bool) {
    return converter.toBool(from, value);
  }
  if (isNibble(to)) {
    return converter.toNibble(from, to, value);
  }
  if (isFloat8(to)) {
    return converter.toFloat8(to, how != Function::CastUnsaturated,
                              converter.toFloat(from, DType::F32, true, value));
  }
  return rt::isFloatType(to)
             ? converter.toFloat(from, to, how == Function::CastToOdd, value)
             : converter.toInteger(from, to, value);
}
