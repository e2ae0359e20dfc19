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
    : ScoreBuilder(builder, attention.plan, attention.type, shared),
      attention_(attention), to_(arguments[0]), q_(arguments[1]),
      k_(arguments[2]), v_(attention.makesLse ? Value() : arguments[3]) {
  size_t next = attention.pointerCount();
  bounds_.mask = plan_.hasMask ? arguments[next - 1] : Value();
  auto take = [&](size_t count) {
    next += count;
    return arguments.slice(next - count, count);
  };
  numbers_ = take(GridAttention::numNumbers);
  toStrides_ = take(3);
  qStrides_ = take(3);
  kStrides_ = take(3);
  vStrides_ = take(3);
  bounds_.maskStrides = take(4);
  bounds_.queries = extent(GridAttention::Queries);
  bounds_.first = extent(GridAttention::First);
  bounds_.end = extent(GridAttention::End);
}

Value AttentionBuilder::inBounds(Value key) {
  return larger(number(0), smaller(key, extent(GridAttention::Keys)));
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
  Value shared = subtract(make<arith::DivUIOp>(add(first, head), group),
                          make<arith::DivUIOp>(first, group));
  auto base = [&](ValueRange strides, Value ownHead) {
    return add(mul(batch, strides[0]), mul(ownHead, strides[1]));
  };
  toBase_ = base(toStrides_, head);
  qBase_ = base(qStrides_, head);
  kBase_ = base(kStrides_, shared);
  vBase_ = base(vStrides_, shared);
  bounds_.maskBase = base(bounds_.maskStrides, head);
  Value ofWarp = number(attention_.queries());
  blockQuery_ = mul(ofHead, mul(warps_, ofWarp));
  firstQuery_ = add(blockQuery_, mul(warp_, ofWarp));
}

Value AttentionBuilder::weight(Value score, Value top) {
  // What is attended by nobody yet is no number to be subtracted.
  Value from = make<arith::SelectOp>(isMinusInfinity(top), constant(0), top);
  Value e = call(Function::Exp, make<arith::SubFOp>(score, from));
  return make<arith::SelectOp>(isMinusInfinity(score), constant(0), e);
}

void AttentionBuilder::storeLse(Value query, Value top, Value sum) {
  double ofNothing = plan_.makesNan ? std::numeric_limits<double>::quiet_NaN()
                                    : std::numeric_limits<double>::infinity();
  Value log = make<arith::AddFOp>(top, call(Function::Log, sum));
  Value lse =
      make<arith::SelectOp>(isMinusInfinity(top), constant(ofNothing), log);
  when(hasQuery(query),
       [&] { store(lse, to_, add(toBase_, mul(query, toStrides_[2]))); });
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
  loop(position<gpu::BlockIdOp>(Dimension::x), work,
       position<gpu::GridDimOp>(Dimension::x), [&](Value own) {
         enterHead(own);
         Value last =
             subtract(smaller(add(blockQuery_,
                                  mul(warps_, number(attention_.queries()))),
                              extent(GridAttention::Queries)),
                      number(1));
         // What the first query of the block attends up to what its last does.
         body(inBounds(add(blockQuery_, extent(GridAttention::First))),
              inBounds(add(last, extent(GridAttention::End))));
       });
}
