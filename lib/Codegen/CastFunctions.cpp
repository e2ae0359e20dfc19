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

/// Converts scalars.
class Converter {
public:
  explicit Converter(ImplicitLocOpBuilder &builder) : b_(builder) {}

  Value toBool(DType from, Value value);
  Value toInteger(DType from, DType to, Value value);
  Value toFloat(DType from, DType to, bool isOdd, Value value);
  Value fromMinifloat(const rt::MinifloatFormat &format, Value code);
  Value toMinifloat(const rt::MinifloatFormat &format, bool saturates,
                    Value value);
  Value fromPowerOfTwo(Value code);
  Value toPowerOfTwo(bool saturates, Value value);
  Value toSmallInteger(DType from, DType to, Value value);

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

static bool isSmallInteger(DType type) {
  return (rt::typeBit(type) & rt::SmallInts) != 0;
}

/// How a float of eight bits or fewer is laid out; nothing for others.
static std::optional<rt::MinifloatFormat> minifloatOf(DType type) {
  std::optional<rt::MinifloatFormat> format;
  rt::dispatch<rt::Minifloats>(
      type, [&](auto zero) { format = decltype(zero)::layout; });
  return format;
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
Value Converter::toSmallInteger(DType from, DType to, Value value) {
  int64_t count = int64_t(1) << rt::bitWidth(to);
  Value number =
      make<arith::AndIOp>(toInteger(from, DType::I32, value), count - 1);
  if (!isUnsigned(to)) {
    number =
        make<arith::SubIOp>(make<arith::XOrIOp>(number, count / 2), count / 2);
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

/// As rt::Minifloat's conversion: exponent and mantissa lie as in f32, 2^(127 -
/// bias) times too small.
Value Converter::fromMinifloat(const rt::MinifloatFormat &format, Value code) {
  Value all = to<arith::ExtUIOp>(i32(), code);
  Value magnitude = make<arith::AndIOp>(all, format.signBit() - 1);
  Value sign = make<arith::ShLIOp>(make<arith::AndIOp>(all, format.signBit()),
                                   32 - format.width);
  Value value = bits(make<arith::MulFOp>(
      ofBits(make<arith::ShLIOp>(magnitude, 23 - format.mantissaBits)),
      real(f32(), std::ldexp(1.0, 127 - format.bias))));
  auto replace = [&](Order order, Value x, int64_t code, int64_t by) {
    value = select(is(order, x, code), integer(i32(), by), value);
  };
  if (format.infinity >= 0) {
    replace(Order::ugt, magnitude, format.infinity, 0x7fc00000);
    replace(Order::eq, magnitude, format.infinity, 0x7f800000);
  } else if (format.nan >= 0) {
    replace(Order::eq, format.isUnsignedZero() ? all : magnitude, format.nan,
            0x7fc00000);
  }
  return ofBits(make<arith::OrIOp>(value, sign));
}

/// As rt::Minifloat's constructor.
Value Converter::toMinifloat(const rt::MinifloatFormat &format, bool saturates,
                             Value value) {
  int64_t shift = 23 - format.mantissaBits;
  int64_t rebias = int64_t(127 - format.bias) << 23;
  Value unit =
      real(f32(), std::ldexp(1.0, 24 - format.bias - format.mantissaBits));
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
  int64_t beyond = saturates ? format.largest : format.beyond();
  code = select(is(Order::ugt, code, format.largest), integer(i32(), beyond),
                code);
  code = select(is(Order::ugt, magnitude, 0x7f800000),
                integer(i32(), std::max(format.nan, 0)), code);
  Value sign = make<arith::AndIOp>(make<arith::ShRUIOp>(all, 32 - format.width),
                                   format.signBit());
  if (format.isUnsignedZero()) {
    sign = select(is(Order::eq, code, 0), code, sign);
  }
  return to<arith::TruncIOp>(b_.getI8Type(), make<arith::OrIOp>(code, sign));
}

/// As rt::Float8E8M0's conversion.
Value Converter::fromPowerOfTwo(Value code) {
  Value all = to<arith::ExtUIOp>(i32(), code);
  Value value = make<arith::ShLIOp>(all, 23);
  value = select(is(Order::eq, all, 0), integer(i32(), 0x00400000), value);
  value = select(is(Order::eq, all, rt::Float8E8M0::nan),
                 integer(i32(), 0x7fc00000), value);
  return ofBits(value);
}

/// As rt::Float8E8M0's constructor.
Value Converter::toPowerOfTwo(bool saturates, Value value) {
  constexpr int64_t least = 0x00400000, most = rt::Float8E8M0::largest;
  Value magnitude = make<arith::AndIOp>(bits(value), 0x7fffffff);
  Value code =
      make<arith::ShRUIOp>(make<arith::AddIOp>(magnitude, 0x7fffff), 23);
  code = select(is(Order::ule, magnitude, least), integer(i32(), 0), code);
  Value isBad = is(Predicate::ULT, value, real(f32(), 0));
  if (!saturates) {
    isBad = make<arith::OrIOp>(isBad, is(Order::ugt, code, most));
    isBad = make<arith::OrIOp>(isBad, is(Order::ult, magnitude, least));
  }
  code = select(is(Order::ugt, code, most), integer(i32(), most), code);
  code = select(isBad, integer(i32(), rt::Float8E8M0::nan), code);
  return to<arith::TruncIOp>(b_.getI8Type(), code);
}

Value divisi::emitCast(ImplicitLocOpBuilder &builder, Function how, DType from,
                       DType to, Value value) {
  Converter converter(builder);
  if (auto format = minifloatOf(from)) {
    value = converter.fromMinifloat(*format, value);
    from = DType::F32;
  } else if (from == DType::F8E8M0) {
    value = converter.fromPowerOfTwo(value);
    from = DType::F32;
  }
  if (to == DType::Bool) {
    return converter.toBool(from, value);
  }
  if (isSmallInteger(to)) {
    return converter.toSmallInteger(from, to, value);
  }
  bool saturates = how != Function::CastUnsaturated;
  auto odd = [&] { return converter.toFloat(from, DType::F32, true, value); };
  if (auto format = minifloatOf(to)) {
    return converter.toMinifloat(*format, saturates, odd());
  }
  if (to == DType::F8E8M0) {
    return converter.toPowerOfTwo(saturates, odd());
  }
  return rt::isFloatType(to)
             ? converter.toFloat(from, to, how == Function::CastToOdd, value)
             : converter.toInteger(from, to, value);
}
