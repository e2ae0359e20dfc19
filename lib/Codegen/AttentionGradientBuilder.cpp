//===- AttentionGradientBuilder.cpp - Gradients of attention --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/AttentionGradientBuilder.h"
#include "divisi/runtime/code/GridCode.h"

using namespace mlir;
using namespace divisi;

AttentionGradientBuilder::AttentionGradientBuilder(
    ImplicitLocOpBuilder &builder, const rt::GridAttentionGradient &gradient,
    ValueRange arguments, Value shared)
    : ScoreBuilder(builder, gradient.plan, gradient.type, shared),
      gradient_(gradient), to_(arguments[0]) {
  size_t next = 1;
  for (size_t kind : Gradient::kinds) {
    if (next < gradient.pointerCount()) {
      pointers_[kind] = arguments[next++];
    }
  }
  auto take = [&](size_t count) {
    next += count;
    return arguments.slice(next - count, count);
  };
  numbers_ = take(Gradient::numNumbers);
  resultStrides_ = take(3);
  for (size_t kind : Gradient::kinds) {
    strides_[kind] = take(kind == rt::Mask ? 4 : 3);
  }
  bounds_.mask = pointers_[rt::Mask];
  bounds_.maskStrides = strides_[rt::Mask];
  bounds_.queries = extent(Gradient::Queries);
  bounds_.first = extent(Gradient::First);
  bounds_.end = extent(Gradient::End);
}

MatrixRows AttentionGradientBuilder::matrix(size_t kind) {
  bool hasDepth = kind == rt::Query || kind == rt::Key;
  return {pointers_[kind], bases_[kind], strides_[kind][2],
          extent(hasDepth ? Gradient::Depth : Gradient::Features)};
}

AttentionGradientBuilder::QueryNumbers
AttentionGradientBuilder::numbersOf(Value query) {
  auto of = [&](size_t kind) {
    return valueWhen(hasQuery(query), constant(0), [&] {
      return loadFrom(pointers_[kind],
                      add(bases_[kind], mul(query, strides_[kind][2])),
                      rt::sumType(gradient_.type));
    });
  };
  return {of(rt::Lse), gradient_.isOfValues() ? Value() : of(rt::Delta)};
}

Value AttentionGradientBuilder::weight(Value own, Value coming, Value product,
                                       Value slope,
                                       const QueryNumbers &numbers) {
  Value query = isOfQueries() ? own : coming;
  Value key = isOfQueries() ? coming : own;
  Value capped = cappedScore(product);
  Value score = maskedScore(query, key, extent(Gradient::Keys), capped);
  Value isNothing = isMinusInfinity(score);
  Value p = call(Function::Exp, make<arith::SubFOp>(score, numbers.lse));
  if (!gradient_.isOfValues()) {
    p = make<arith::MulFOp>(p, make<arith::SubFOp>(slope, numbers.delta));
    if (plan_.softcap > 0) {
      Value tanh = make<arith::DivFOp>(capped, constant(plan_.softcap));
      p = make<arith::MulFOp>(
          p, make<arith::SubFOp>(constant(1), make<arith::MulFOp>(tanh, tanh)));
    }
    p = make<arith::MulFOp>(p, constant(plan_.scale));
  }
  return make<arith::SelectOp>(isNothing, constant(0), p);
}

/// Where an operand has `head` of the part's batch.
Value AttentionGradientBuilder::headBase(size_t kind, Value head) {
  return add(mul(batch_, strides_[kind][0]), mul(head, strides_[kind][1]));
}

/// Goes to the rows of the block's part number `work`.
void AttentionGradientBuilder::enterPart(Value work) {
  Value tiles = extent(Gradient::Tiles), heads = extent(Gradient::Heads),
        group = extent(Gradient::Group),
        firstHead = extent(Gradient::FirstHead);
  Value ofHead = make<arith::RemUIOp>(work, tiles);
  Value rest = make<arith::DivUIOp>(work, tiles);
  Value head = make<arith::RemUIOp>(rest, heads);
  batch_ = make<arith::DivUIOp>(rest, heads);
  Value firstKeyHead = make<arith::DivUIOp>(firstHead, group);
  Value keyHead;
  if (isOfQueries()) {
    headBegin_ = head;
    headEnd_ = add(head, number(1));
    keyHead = make<arith::DivUIOp>(add(firstHead, head), group);
  } else {
    keyHead = add(extent(Gradient::FirstResult), head);
    Value begin = subtract(mul(keyHead, group), firstHead);
    headBegin_ = larger(begin, number(0));
    headEnd_ = smaller(add(begin, group), extent(Gradient::QueryHeads));
  }
  hasHeads_ = isLess(headBegin_, headEnd_);
  for (size_t kind : {rt::Key, rt::Value}) {
    bases_[kind] = headBase(kind, subtract(keyHead, firstKeyHead));
  }
  resultBase_ =
      add(mul(batch_, resultStrides_[0]), mul(head, resultStrides_[1]));
  Value ofWarp = number(gradient_.rows());
  blockOwn_ = mul(ofHead, mul(warps_, ofWarp));
  firstOwn_ = add(blockOwn_, mul(warp_, ofWarp));
  // What the block's first row is paired with, up to what its last one is.
  Value last = subtract(smaller(add(blockOwn_, mul(warps_, ofWarp)), ownRows()),
                        number(1));
  Value count = extent(isOfQueries() ? Gradient::Keys : Gradient::Queries);
  auto inBounds = [&](Value row) {
    return larger(number(0), smaller(row, count));
  };
  Value before = extent(Gradient::First), after = extent(Gradient::End);
  begin_ = inBounds(isOfQueries() ? add(blockOwn_, before)
                                  : add(subtract(blockOwn_, after), number(1)));
  end_ = inBounds(isOfQueries() ? add(last, after)
                                : add(subtract(last, before), number(1)));
}

/// Goes to a head of queries.
void AttentionGradientBuilder::enterHead(Value head) {
  for (size_t kind : {rt::Query, rt::Gradient, rt::Lse, rt::Delta}) {
    bases_[kind] = headBase(kind, head);
  }
  bounds_.maskBase = headBase(rt::Mask, head);
}

void AttentionGradientBuilder::forEachPart(
    llvm::function_ref<void()> begin, ValueRange sums,
    llvm::function_ref<Values(Value first, Value end, ValueRange sums)> next,
    llvm::function_ref<void(ValueRange sums)> finish) {
  Value work = mul(extent(Gradient::Tiles),
                   mul(extent(Gradient::Batch), extent(Gradient::Heads)));
  loop(position<gpu::BlockIdOp>(Dimension::x), work,
       position<gpu::GridDimOp>(Dimension::x), [&](Value own) {
         enterPart(own);
         if (isOfQueries()) {
           enterHead(headBegin_);
         }
         begin();
         finish(loop(headBegin_, headEnd_, number(1), sums,
                     [&](Value head, ValueRange before) {
                       enterHead(head);
                       return loop(begin_, end_, number(Gradient::tile), before,
                                   [&](Value first, ValueRange last) {
                                     return next(first, end_, last);
                                   });
                     }));
       });
}
