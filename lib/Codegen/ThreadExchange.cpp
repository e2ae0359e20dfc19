//===- ThreadExchange.cpp - What threads tell each other ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ThreadExchange.h"
#include "divisi/runtime/code/GridCode.h"

using namespace mlir;
using namespace divisi;

/// What the thread has whose number differs in the bits of `distance`: in one
/// exchange of 32 bits, or two.
Value ThreadExchange::fromOther(Value own, int distance) {
  auto exchange = [&](Value value) -> Value {
    return gpu::ShuffleOp::create(b_, value, distance, rt::warpSize,
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Type type = own.getType(), wide = b_.getI64Type(), half = b_.getI32Type();
  if (type.getIntOrFloatBitWidth() == 32) {
    return exchange(own);
  }
  Value bits = type == wide ? own : make<arith::BitcastOp>(wide, own);
  Value high = make<arith::ShRUIOp>(bits, number(32));
  Value otherLow = exchange(make<arith::TruncIOp>(half, bits));
  Value otherHigh = exchange(make<arith::TruncIOp>(half, high));
  bits = make<arith::OrIOp>(
      make<arith::ExtUIOp>(wide, otherLow),
      make<arith::ShLIOp>(make<arith::ExtUIOp>(wide, otherHigh), number(32)));
  return type == wide ? bits : make<arith::BitcastOp>(type, bits);
}

Value ThreadExchange::combineLanes(Value own, Combine combine) {
  for (int distance = rt::warpSize / 2; distance > 0; distance /= 2) {
    Value both = combine(own, fromOther(own, distance));
    own = make<arith::SelectOp>(isLess(number(distance), lanes_), both, own);
  }
  return own;
}

Value ThreadExchange::combineLanes(Value own, int count, Combine combine) {
  for (int distance = count / 2; distance > 0; distance /= 2) {
    own = combine(own, fromOther(own, distance));
  }
  return own;
}

Value ThreadExchange::combine(Value own, Value neutral, Combine combine) {
  return combineWarps(combineLanes(own, combine), neutral, combine);
}

Value ThreadExchange::combineWarps(Value ofWarp, Value neutral,
                                   Combine combine) {
  Value size = number(rt::warpSize);
  return valueWhen(isLess(size, lanes_), ofWarp, [&] {
    Value isFirst = isEqual(make<arith::RemUIOp>(lane_, size), number(0));
    when(isFirst,
         [&] { store(ofWarp, shared_, make<arith::DivUIOp>(lane_, size)); });
    barrier();
    Values all = loop(number(0), make<arith::DivUIOp>(lanes_, size), number(1),
                      neutral, [&](Value warp, ValueRange last) -> Values {
                        Value next = load(shared_, ofWarp.getType(), warp);
                        return {combine(last[0], next)};
                      });
    barrier(); // before anybody writes the next ones
    return all[0];
  });
}
