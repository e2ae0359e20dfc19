//===- TypedFunctions.cpp - Functions of all types ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/TypedFunctions.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/RealFunctions.h"
#include "lib/Codegen/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace divisi;

bool divisi::isUnsigned(rt::DType type) {
  switch (type) {
  case rt::DType::U8:
  case rt::DType::U16:
  case rt::DType::U32:
  case rt::DType::U64:
  case rt::DType::U2:
  case rt::DType::U4:
  case rt::DType::Bool:
    return true;
  default:
    return false;
  }
}

/// Codes of 8 bits as f32, and back what is in their range.
static Value emitCode(ImplicitLocOpBuilder &b, Function function,
                      rt::DType from, Value x) {
  Type like = x.getType();
  if (function == Function::Widen) {
    Type type = withElement(like, b.getF32Type());
    return isUnsigned(from) ? arith::UIToFPOp::create(b, type, x).getResult()
                            : arith::SIToFPOp::create(b, type, x).getResult();
  }
  Value whole =
      arith::FPToSIOp::create(b, withElement(like, b.getI32Type()), x);
  return arith::TruncIOp::create(b, withElement(like, b.getI8Type()), whole);
}

/// Of f32 by way of f64, rounded once.
static Value emitByReal(ImplicitLocOpBuilder &b, Function function,
                        ValueRange operands) {
  Type type = operands[0].getType();
  if (type.isF64()) {
    return emitReal(b, function, operands);
  }
  SmallVector<Value> wide;
  for (Value operand : operands) {
    wide.push_back(arith::ExtFOp::create(b, b.getF64Type(), operand));
  }
  return arith::TruncFOp::create(b, type, emitReal(b, function, wide));
}

/// A rest, which has the divisor's sign after that is added, if it has not
/// anyway.
static Value emitFloorMod(ImplicitLocOpBuilder &b, ValueRange operands) {
  using Predicate = arith::CmpFPredicate;
  Value rest = emitByReal(b, Function::FMod, operands);
  Value zero = emitConstant(b, rest.getType(), 0);
  auto is = [&](Predicate predicate, Value x) -> Value {
    return arith::CmpFOp::create(b, predicate, x, zero);
  };
  Value differs = arith::XOrIOp::create(b, is(Predicate::OLT, rest),
                                        is(Predicate::OLT, operands[1]));
  Value isOther = arith::AndIOp::create(b, is(Predicate::UNE, rest), differs);
  return arith::SelectOp::create(
      b, isOther, arith::AddFOp::create(b, rest, operands[1]), rest);
}

Value divisi::emitTyped(ImplicitLocOpBuilder &builder, Function function,
                        rt::DType from, rt::DType to, ValueRange operands) {
  switch (function) {
  case Function::Widen:
  case Function::Narrow:
    return emitCode(builder, function, from, operands[0]);
  case Function::Cast:
  case Function::CastUnsaturated:
  case Function::CastToOdd:
    return emitCast(builder, function, from, to, operands[0]);
  case Function::Select:
    return arith::SelectOp::create(builder, operands[0], operands[1],
                                   operands[2]);
  default:
    break;
  }
  if (!rt::isFloatType(from)) {
    return emitInteger(builder, function, from, operands);
  }
  if (rt::factsOf(function).has(rt::ForVectors)) {
    return emitFunction(builder, function, operands);
  }
  return function == Function::FloorMod
             ? emitFloorMod(builder, operands)
             : emitByReal(builder, function, operands);
}
