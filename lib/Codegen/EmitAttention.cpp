//===- EmitAttention.cpp - Attending in blocks of threads -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitAttention.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/AttentionBuilder.h"
#include "lib/Codegen/StoredElements.h"

using namespace mlir;
using namespace divisi;

using rt::GridAttention;

namespace {

/// Emits what one thread does.
class AttentionEmitter : AttentionBuilder {
public:
  AttentionEmitter(ImplicitLocOpBuilder &builder,
                   const GridAttention &attention, ValueRange arguments,
                   Value shared)
      : AttentionBuilder(builder, attention, arguments, shared),
        pairs_(builder, attention.type, attention.queries(), shared) {}
  void emit();

private:
  /// Of one query, what is known of the keys that have come by.
  struct Running {
    Value top, sum;
    Values features; ///< Of this lane, by tile.
  };

  Value query(int64_t r) { return add(firstQuery_, number(r)); }
  Value overLanes(Function function, Value own);

  void attend(int64_t r, Value score, Running &running);
  void weighTile(int64_t t, Value key, Value end,
                 MutableArrayRef<Running> running);
  Values carried(ArrayRef<Running> running);
  SmallVector<Running> unpack(ValueRange values);
  Values nextKeys(Value key, Value end, ValueRange last);
  void finish(int64_t r, const Running &running);

  RowPairs pairs_;
};

} // namespace

/// What the 32 lanes have together, by each of them.
Value AttentionEmitter::overLanes(Function function, Value own) {
  return exchange().combineLanes(
      own, [&](Value x, Value y) { return call(function, {x, y}); });
}

/// Takes this lane's key into account, and those of the other lanes.
void AttentionEmitter::attend(int64_t r, Value score, Running &running) {
  Value top =
      call(Function::Max, {overLanes(Function::Max, score), running.top});
  Value own = weight(score, top), before = weight(running.top, top);
  running.top = top;
  running.sum = make<arith::AddFOp>(make<arith::MulFOp>(running.sum, before),
                                    overLanes(Function::Add, own));
  for (Value &feature : running.features) {
    feature = make<arith::MulFOp>(feature, before);
  }
  pairs_.keep(r, own);
}

/// Adds the values times their weights, of the features of tile `t`.
void AttentionEmitter::weighTile(int64_t t, Value key, Value end,
                                 MutableArrayRef<Running> running) {
  Values last;
  for (const Running &own : running) {
    last.push_back(own.features[size_t(t)]);
  }
  Values sums =
      pairs_.weigh(valueRows(), key, end, t, last, attention_.masks());
  for (auto [own, sum] : llvm::zip_equal(running, sums)) {
    own.features[size_t(t)] = sum;
  }
}

ThreadBuilder::Values AttentionEmitter::carried(ArrayRef<Running> running) {
  Values all;
  for (const Running &own : running) {
    all.append({own.top, own.sum});
    all.append(own.features);
  }
  return all;
}

SmallVector<AttentionEmitter::Running>
AttentionEmitter::unpack(ValueRange values) {
  SmallVector<Running> running;
  size_t each = size_t(attention_.featureTiles) + 2;
  for (size_t at = 0; at < values.size(); at += each) {
    running.push_back(
        {values[at], values[at + 1], Values(values.slice(at + 2, each - 2))});
  }
  return running;
}

ThreadBuilder::Values AttentionEmitter::nextKeys(Value key, Value end,
                                                 ValueRange last) {
  SmallVector<Running> running = unpack(last);
  Values products =
      pairs_.products(queryRows(), firstQuery_, extent(GridAttention::Queries),
                      keyRows(), key, end);
  Value own = add(key, lane_);
  for (auto [r, product] : llvm::enumerate(products)) {
    Value score =
        maskedScore(query(int64_t(r)), own, end, cappedScore(product));
    attend(int64_t(r), score, running[r]);
  }
  for (int64_t t = 0; t < attention_.featureTiles; ++t) {
    weighTile(t, key, end, running);
  }
  return carried(running);
}

void AttentionEmitter::finish(int64_t r, const Running &running) {
  if (attention_.makesLse) {
    return when(isEqual(lane_, number(0)),
                [&] { storeLse(query(r), running.top, running.sum); });
  }
  Value scale = finalScale(running.top, running.sum);
  Value row = add(toBase_, mul(query(r), toStrides_[2]));
  for (auto [t, feature] : llvm::enumerate(running.features)) {
    Value column = add(number(int64_t(t) * tile), lane_);
    Value isThere = both(hasQuery(query(r)),
                         isLess(column, extent(GridAttention::Features)));
    when(isThere, [&] {
      Value value = make<arith::MulFOp>(feature, scale);
      store(toStored(b_, value, attention_.type), to_, add(row, column));
    });
  }
}

void AttentionEmitter::emit() {
  Running none{never(), constant(0),
               Values(size_t(attention_.featureTiles), constant(0))};
  SmallVector<Running> nothing(size_t(attention_.queries()), none);
  forEachPart([&](Value begin, Value end) {
    Values all = loop(begin, end, number(tile), carried(nothing),
                      [&](Value key, ValueRange before) {
                        return nextKeys(key, end, before);
                      });
    for (auto [r, running] : llvm::enumerate(unpack(all))) {
      finish(int64_t(r), running);
    }
  });
}

void divisi::emitKernel(ModuleOp module, const GridAttention &attention) {
  if (attention.usesTensorCores()) {
    return emitTensorAttention(module, attention);
  }
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, attention.pointerCount(), attention.numberCount());
  Value shared = shareMemory(b, module, ScoreBuilder::realOf(b, attention.type),
                             RowPairs::sharedElements(attention.queries()));
  AttentionEmitter(b, attention, kernel.getArguments(), shared).emit();
}
