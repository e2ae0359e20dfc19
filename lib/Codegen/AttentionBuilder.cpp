//===- AttentionBuilder.cpp - What all kernels of attention do ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/AttentionBuilder.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/StoredElements.h"

#include <limits>

using namespace mlir;
using namespace divisi;

using rt::GridAttention;

AttentionBuilder::AttentionBuilder(ImplicitLocOpBuilder &builder,
                                   const GridAttention &attention,
                                   ValueRange arguments, Value shared)
    : ThreadBuilder(builder), attention_(attention), plan_(attention.plan),
      real_(realOf(builder, attention)), to_(arguments[0]), q_(arguments[1]),
      k_(arguments[2]), v_(arguments[3]),
      mask_(plan_.hasMask ? arguments[4] : Value()), shared_(shared) {
  size_t next = attention.pointerCount();
  auto take = [&](size_t count) {
    next += count;
    return arguments.slice(next - count, count);
  };
  numbers_ = take(GridAttention::numNumbers);
  toStrides_ = take(3);
  qStrides_ = take(3);
  kStrides_ = take(3);
  vStrides_ = take(3);
  maskStrides_ = take(4);
  lane_ = position<gpu::ThreadIdOp>(Dimension::x);
  warp_ = position<gpu::ThreadIdOp>(Dimension::y);
  warps_ = position<gpu::BlockDimOp>(Dimension::y);
}

Value AttentionBuilder::constant(double value) {
  return emitConstant(b_, real_, value);
}

Value AttentionBuilder::never() {
  return constant(-std::numeric_limits<double>::infinity());
}

Value AttentionBuilder::call(Function function, ValueRange operands) {
  return emitFunction(b_, function, operands);
}

Value AttentionBuilder::isMinusInfinity(Value x) {
  return call(Function::Eq, {x, never()});
}

Value AttentionBuilder::smaller(Value x, Value y) {
  return make<arith::MinSIOp>(x, y);
}

ThreadExchange AttentionBuilder::exchange() {
  return ThreadExchange(b_, lane_, number(rt::warpSize), shared_);
}

Value AttentionBuilder::loadFrom(Value pointer, Value index) {
  Value stored = load(pointer, storedElement(b_, attention_.type), index);
  return fromStored(b_, stored, attention_.type);
}

Value AttentionBuilder::inBounds(Value key) {
  return make<arith::MaxSIOp>(number(0),
                              smaller(key, extent(GridAttention::Keys)));
}

/// Goes to the queries of the block's part number `work`.
void AttentionBuilder::enterHead(Value work) {
  Value tiles = extent(GridAttention::Tiles),
        heads = extent(GridAttention::Heads),
        group = extent(GridAttention::Group),
        first = extent(GridAttention::FirstHead);
  Value ofHead = make<arith::RemUIOp>(work, tiles);
  Value rest = make<arith::DivUIOp>(work, tiles);
  Value head = make<arith::RemUIOp>(rest, heads);
  Value batch = make<arith::DivUIOp>(rest, heads);
  Value shared =
      make<arith::SubIOp>(make<arith::DivUIOp>(add(first, head), group),
                          make<arith::DivUIOp>(first, group));
  auto base = [&](ValueRange strides, Value ownHead) {
    return add(mul(batch, strides[0]), mul(ownHead, strides[1]));
  };
  toBase_ = base(toStrides_, head);
  qBase_ = base(qStrides_, head);
  kBase_ = base(kStrides_, shared);
  vBase_ = base(vStrides_, shared);
  maskBase_ = base(maskStrides_, head);
  Value ofWarp = number(attention_.queries());
  blockQuery_ = mul(ofHead, mul(warps_, ofWarp));
  firstQuery_ = add(blockQuery_, mul(warp_, ofWarp));
}

/// With what the mask has for a key, which the query may attend.
Value AttentionBuilder::addMask(Value query, Value key, Value score) {
  Value place = add(add(maskBase_, mul(query, maskStrides_[2])),
                    mul(key, maskStrides_[3]));
  if (plan_.masksByBool) {
    Value flag = load(mask_, b_.getI8Type(), place);
    return make<arith::SelectOp>(fromStored(b_, flag, rt::DType::Bool), score,
                                 never());
  }
  Value bias = loadFrom(mask_, place);
  return make<arith::SelectOp>(isMinusInfinity(bias), bias,
                               make<arith::AddFOp>(score, bias));
}

Value AttentionBuilder::maskedScore(Value query, Value key, Value end,
                                    Value product) {
  Value score = make<arith::MulFOp>(constant(plan_.scale), product);
  if (plan_.softcap > 0) {
    Value cap = constant(plan_.softcap);
    score = make<arith::MulFOp>(
        cap, call(Function::Tanh, make<arith::DivFOp>(score, cap)));
  }
  Value from = add(query, extent(GridAttention::First));
  Value to = add(query, extent(GridAttention::End));
  Value isAttended =
      both(both(hasQuery(query), isLess(key, end)),
           both(isLess(key, to),
                make<arith::CmpIOp>(arith::CmpIPredicate::sle, from, key)));
  return valueWhen(isAttended, never(), [&] {
    return plan_.hasMask ? addMask(query, key, score) : score;
  });
}

Value AttentionBuilder::weight(Value score, Value top) {
  // What is attended by nobody yet is no number to be subtracted.
  Value from = make<arith::SelectOp>(isMinusInfinity(top), constant(0), top);
  Value e = call(Function::Exp, make<arith::SubFOp>(score, from));
  return make<arith::SelectOp>(isMinusInfinity(score), constant(0), e);
}

Value AttentionBuilder::finalScale(Value top, Value sum) {
  double ofNothing =
      plan_.makesNan ? std::numeric_limits<double>::quiet_NaN() : 0;
  return make<arith::SelectOp>(isMinusInfinity(top), constant(ofNothing),
                               make<arith::DivFOp>(constant(1), sum));
}

void AttentionBuilder::forEachPart(
    llvm::function_ref<void(Value begin, Value end)> body) {
  Value work =
      mul(extent(GridAttention::Tiles),
          mul(extent(GridAttention::Batch), extent(GridAttention::Heads)));
  loop(
      position<gpu::BlockIdOp>(Dimension::x), work,
      position<gpu::GridDimOp>(Dimension::x), [&](Value own) {
        enterHead(own);
        Value last = make<arith::SubIOp>(
            smaller(add(blockQuery_, mul(warps_, number(attention_.queries()))),
                    extent(GridAttention::Queries)),
            number(1));
        // What the first query of the block attends up to what its last does.
        body(inBounds(add(blockQuery_, extent(GridAttention::First))),
             inBounds(add(last, extent(GridAttention::End))));
      });
}
