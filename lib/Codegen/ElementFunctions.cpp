//===- ElementFunctions.cpp - Functions of elements as operations ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They are what the reference kernels compute, NaN and infinities included.
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/RealFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;
using namespace divisi;

using Predicate = arith::CmpFPredicate;

namespace {

/// Operations on one type of vectors.
struct Ops {
  ImplicitLocOpBuilder &b;
  Type type;

  template <typename Op, typename... Operands>
  Value make(Operands... operands) {
    return Op::create(b, operands...);
  }
  Value number(double value) { return emitConstant(b, type, value); }
  Value compare(Predicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  /// The one for which `predicate` holds; NaN if one of them is.
  Value extreme(Predicate predicate, Value x, Value y) {
    Value isNan = compare(Predicate::UNO, x, x);
    Value isFirst = compare(predicate, x, y);
    return select(make<arith::OrIOp>(isFirst, isNan), x, y);
  }
  /// `function`, by the operation that becomes a polynomial in f32.
  template <typename Op> Value call(Function function, Value x) {
    return type.isF64() ? emitReal(b, function, x) : make<Op>(x);
  }
  Value exp(Value x) { return call<math::ExpOp>(Function::Exp, x); }
  Value erf(Value x) { return call<math::ErfOp>(Function::Erf, x); }
  Value tanh(Value x) { return call<math::TanhOp>(Function::Tanh, x); }
  /// The exponential of a negative number never overflows.
  Value sigmoid(Value x) {
    Value one = number(1);
    Value e = exp(make<arith::NegFOp>(make<math::AbsFOp>(x)));
    Value isNegative = compare(Predicate::OLT, x, number(0));
    return make<arith::DivFOp>(select(isNegative, e, one),
                               make<arith::AddFOp>(one, e));
  }
  /// x * max(0, min(1, x / 6 + 1 / 2))
  Value hardSwish(Value x) {
    Value share =
        make<arith::AddFOp>(make<arith::DivFOp>(x, number(6)), number(0.5));
    Value low =
        select(compare(Predicate::OLT, share, number(0)), number(0), share);
    return make<arith::MulFOp>(
        x, select(compare(Predicate::OGT, low, number(1)), number(1), low));
  }
  /// x / 2 * (1 + f)
  Value halfOf(Value x, Value f) {
    return make<arith::MulFOp>(make<arith::MulFOp>(number(0.5), x),
                               make<arith::AddFOp>(number(1), f));
  }
  Value geluErf(Value x) {
    return halfOf(x,
                  erf(make<arith::MulFOp>(x, number(0.70710678118654752440))));
  }
  Value geluTanh(Value x) {
    Value cube = make<arith::MulFOp>(make<arith::MulFOp>(x, x), x);
    Value inner =
        make<arith::AddFOp>(x, make<arith::MulFOp>(number(0.044715), cube));
    return halfOf(
        x, tanh(make<arith::MulFOp>(number(0.79788456080286535588), inner)));
  }
  /// Numbers below the least normal one are brought above it first: the
  /// polynomial reads the exponent as it stands.
  Value log(Value x) {
    if (type.isF64()) {
      return emitReal(b, Function::Log, x);
    }
    Value isSmall = compare(Predicate::OLT, x, number(0x1p-126));
    Value scaled = select(isSmall, make<arith::MulFOp>(x, number(0x1p23)), x);
    Value shift =
        select(isSmall, number(23 * 0.69314718055994530942), number(0));
    return make<arith::SubFOp>(make<math::LogOp>(scaled), shift);
  }
  Value sign(Value x) {
    Value positive = compare(Predicate::OGT, x, number(0));
    Value negative = compare(Predicate::OLT, x, number(0));
    Value isNan = compare(Predicate::UNO, x, x);
    Value signs =
        select(positive, number(1), select(negative, number(-1), number(0)));
    return select(isNan, x, signs);
  }
};

} // namespace

Value divisi::emitConstant(ImplicitLocOpBuilder &builder, Type type,
                           double value) {
  FloatAttr element = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  TypedAttr all = element;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    all = DenseElementsAttr::get(shaped, Attribute(element));
  }
  return arith::ConstantOp::create(builder, all);
}

static std::optional<Predicate> predicateOf(Function function) {
  switch (function) {
  case Function::Eq:
    return Predicate::OEQ;
  case Function::Ne:
    return Predicate::UNE;
  case Function::Lt:
    return Predicate::OLT;
  case Function::Le:
    return Predicate::OLE;
  case Function::Gt:
    return Predicate::OGT;
  case Function::Ge:
    return Predicate::OGE;
  default:
    return std::nullopt;
  }
}

/// Functions of one number.
static Value emitUnary(Ops ops, Function function, Value x) {
  using enum Function;
  switch (function) {
  case Neg:
    return ops.make<arith::NegFOp>(x);
  case Abs:
    return ops.make<math::AbsFOp>(x);
  case Sign:
    return ops.sign(x);
  case Relu:
    return ops.select(ops.compare(Predicate::OLT, x, ops.number(0)),
                      ops.number(0), x);
  case Sqrt:
    return ops.make<math::SqrtOp>(x);
  case Rsqrt:
    return ops.make<arith::DivFOp>(ops.number(1), ops.make<math::SqrtOp>(x));
  case Exp:
    return ops.exp(x);
  case Log:
    return ops.log(x);
  case Erf:
    return ops.erf(x);
  case Tanh:
    return ops.tanh(x);
  case Sigmoid:
    return ops.sigmoid(x);
  case Silu:
    return ops.make<arith::MulFOp>(x, ops.sigmoid(x));
  case HardSwish:
    return ops.hardSwish(x);
  case GeluErf:
    return ops.geluErf(x);
  case GeluTanh:
    return ops.geluTanh(x);
  case Floor:
    return ops.make<math::FloorOp>(x);
  case Ceil:
    return ops.make<math::CeilOp>(x);
  case Round:
    return ops.make<math::RoundEvenOp>(x);
  case IsNan:
    return ops.compare(Predicate::UNO, x, x);
  case IsInf:
    return ops.compare(Predicate::OEQ, ops.make<math::AbsFOp>(x),
                       ops.number(std::numeric_limits<double>::infinity()));
  default:
    llvm_unreachable("a function of several values");
  }
}

Value divisi::emitFunction(ImplicitLocOpBuilder &builder, Function function,
                           ValueRange operands) {
  using enum Function;
  Value x = operands[0];
  Ops ops{builder, x.getType()};
  if (operands.size() == 1) {
    return emitUnary(ops, function, x);
  }
  Value y = operands[1];
  if (auto predicate = predicateOf(function)) {
    return ops.compare(*predicate, x, y);
  }
  switch (function) {
  case Add:
    return ops.make<arith::AddFOp>(x, y);
  case Sub:
    return ops.make<arith::SubFOp>(x, y);
  case Mul:
    return ops.make<arith::MulFOp>(x, y);
  case Div:
    return ops.make<arith::DivFOp>(x, y);
  case Max:
    return ops.extreme(Predicate::OGT, x, y);
  case Min:
    return ops.extreme(Predicate::OLT, x, y);
  default:
    llvm_unreachable("a function of one value");
  }
}
