//===- ScoreBuilder.cpp - Scores of queries and keys ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ScoreBuilder.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/StoredElements.h"

#include <limits>

using namespace mlir;
using namespace divisi;

ScoreBuilder::ScoreBuilder(ImplicitLocOpBuilder &builder,
                           const rt::AttentionPlan &plan, rt::DType type,
                           Value shared)
    : ThreadBuilder(builder), plan_(plan), type_(type),
      real_(realOf(builder, type)), shared_(shared),
      lane_(position<gpu::ThreadIdOp>(Dimension::x)),
      warp_(position<gpu::ThreadIdOp>(Dimension::y)),
      warps_(position<gpu::BlockDimOp>(Dimension::y)) {}

Value ScoreBuilder::constant(double value) {
  return emitConstant(b_, real_, value);
}

Value ScoreBuilder::never() {
  return constant(-std::numeric_limits<double>::infinity());
}

Value ScoreBuilder::call(Function function, ValueRange operands) {
  return emitFunction(b_, function, operands);
}

Value ScoreBuilder::isMinusInfinity(Value x) {
  return call(Function::Eq, {x, never()});
}

Value ScoreBuilder::smaller(Value x, Value y) {
  return make<arith::MinSIOp>(x, y);
}

Value ScoreBuilder::larger(Value x, Value y) {
  return make<arith::MaxSIOp>(x, y);
}

Value ScoreBuilder::subtract(Value x, Value y) {
  return make<arith::SubIOp>(x, y);
}

ThreadExchange ScoreBuilder::exchange() {
  return ThreadExchange(b_, lane_, number(rt::warpSize), shared_);
}

Value ScoreBuilder::loadFrom(Value pointer, Value index, rt::DType type) {
  Value stored = load(pointer, storedElement(b_, type), index);
  return fromStored(b_, stored, type);
}

Value ScoreBuilder::cappedScore(Value product) {
  Value score = make<arith::MulFOp>(constant(plan_.scale), product);
  if (plan_.softcap <= 0) {
    return score;
  }
  Value cap = constant(plan_.softcap);
  return make<arith::MulFOp>(
      cap, call(Function::Tanh, make<arith::DivFOp>(score, cap)));
}

/// With what the mask has for a key, which the query may attend.
Value ScoreBuilder::addMask(Value query, Value key, Value score) {
  Value place = add(add(bounds_.maskBase, mul(query, bounds_.maskStrides[2])),
                    mul(key, bounds_.maskStrides[3]));
  if (plan_.masksByBool) {
    Value flag = load(bounds_.mask, b_.getI8Type(), place);
    return make<arith::SelectOp>(fromStored(b_, flag, rt::DType::Bool), score,
                                 never());
  }
  Value bias = loadFrom(bounds_.mask, place, type_);
  return make<arith::SelectOp>(isMinusInfinity(bias), bias,
                               make<arith::AddFOp>(score, bias));
}

Value ScoreBuilder::maskedScore(Value query, Value key, Value end,
                                Value capped) {
  Value from = add(query, bounds_.first), to = add(query, bounds_.end);
  Value isAttended =
      both(both(hasQuery(query), isLess(key, end)),
           both(isLess(key, to),
                make<arith::CmpIOp>(arith::CmpIPredicate::sle, from, key)));
  return valueWhen(isAttended, never(), [&] {
    return plan_.hasMask ? addMask(query, key, capped) : capped;
  });
}
