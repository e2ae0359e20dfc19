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
  using AttentionBuilder::AttentionBuilder;
  void emit();

  /// What a block shares, in floats: 32 rows of keys or values, each with an
  /// element more (so that lanes which read down a column find each in another
  /// bank), and a row of 32 for each query, of q and of p.
  static int64_t sharedFloats(const GridAttention &attention) {
    int64_t rows = attention.queries() * rt::mostWarps;
    return tile * (tile + 1) + 2 * rows * tile;
  }

private:
  /// Of one query, what is known of the keys that have come by.
  struct Running {
    Value top, sum;
    Values features; ///< Of this lane, by tile.
  };

  Value inTile(Value row, Value column) {
    return add(mul(row, number(tile + 1)), column);
  }
  /// Of the row of query `r` of this warp; `isWeight`: of p, else of q.
  Value inRow(int64_t r, bool isWeight, Value column) {
    int64_t rows = attention_.queries() * rt::mostWarps;
    Value row = add(mul(warp_, number(attention_.queries())), number(r));
    return add(add(mul(row, number(tile)),
                   number(tile * (tile + 1) + (isWeight ? rows * tile : 0))),
               column);
  }
  Value query(int64_t r) { return add(firstQuery_, number(r)); }
  Value overLanes(Function function, Value own);

  void loadTile(Value pointer, Value base, Value stride, Value key, Value end,
                Value column, Value columns);
  Values scores(Value key, Value end);
  void attend(int64_t r, Value score, Running &running);
  void weighTile(int64_t t, Value key, Value end,
                 MutableArrayRef<Running> running);
  Values carried(ArrayRef<Running> running);
  SmallVector<Running> unpack(ValueRange values);
  Values nextKeys(Value key, Value end, ValueRange last);
  void finish(int64_t r, const Running &running);
};

} // namespace

/// What the 32 lanes have together, by each of them.
Value AttentionEmitter::overLanes(Function function, Value own) {
  return exchange().combineLanes(
      own, [&](Value x, Value y) { return call(function, {x, y}); });
}

/// Lets the block share rows of keys or values, from `key` up to `end`; zeros
/// where there are no more.
void AttentionEmitter::loadTile(Value pointer, Value base, Value stride,
                                Value key, Value end, Value column,
                                Value columns) {
  Value hasColumn = isLess(column, columns);
  loop(warp_, number(tile), warps_, [&](Value row) {
    Value own = add(key, row);
    Value value =
        valueWhen(both(isLess(own, end), hasColumn), constant(0), [&] {
          return loadFrom(pointer, add(add(base, mul(own, stride)), column));
        });
    store(value, shared_, inTile(row, lane_));
  });
}

/// Of this lane's key, by query.
ThreadBuilder::Values AttentionEmitter::scores(Value key, Value end) {
  Value depth = extent(GridAttention::Depth);
  Values zeros(size_t(attention_.queries()), constant(0));
  return loop(
      number(0), depth, number(tile), zeros,
      [&](Value first, ValueRange last) -> Values {
        Value column = add(first, lane_);
        barrier();
        loadTile(k_, kBase_, kStrides_[2], key, end, column, depth);
        for (int64_t r = 0; r < attention_.queries(); ++r) {
          Value isThere = both(hasQuery(query(r)), isLess(column, depth));
          Value value = valueWhen(isThere, constant(0), [&] {
            return loadFrom(
                q_, add(add(qBase_, mul(query(r), qStrides_[2])), column));
          });
          store(value, shared_, inRow(r, false, lane_));
        }
        barrier();
        Value left = smaller(number(tile), make<arith::SubIOp>(depth, first));
        return loop(number(0), left, number(1), last,
                    [&](Value d, ValueRange sums) -> Values {
                      Type type = real_;
                      Value k = load(shared_, type, inTile(lane_, d));
                      Values next;
                      for (int64_t r = 0; r < attention_.queries(); ++r) {
                        Value q = load(shared_, type, inRow(r, false, d));
                        next.push_back(make<arith::AddFOp>(
                            sums[size_t(r)], make<arith::MulFOp>(q, k)));
                      }
                      return next;
                    });
      });
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
  store(own, shared_, inRow(r, true, lane_));
}

/// Adds the values times their weights, of the features of tile `t`.
void AttentionEmitter::weighTile(int64_t t, Value key, Value end,
                                 MutableArrayRef<Running> running) {
  barrier();
  loadTile(v_, vBase_, vStrides_[2], key, end, add(number(t * tile), lane_),
           extent(GridAttention::Features));
  barrier();
  Values last;
  for (const Running &own : running) {
    last.push_back(own.features[size_t(t)]);
  }
  Value left = smaller(number(tile), make<arith::SubIOp>(end, key));
  Values sums = loop(
      number(0), left, number(1), last,
      [&](Value row, ValueRange before) -> Values {
        Type type = real_;
        Value value = load(shared_, type, inTile(row, lane_));
        Values next;
        for (auto [r, sum] : llvm::enumerate(before)) {
          Value p = load(shared_, type, inRow(int64_t(r), true, row));
          Value more = make<arith::AddFOp>(sum, make<arith::MulFOp>(p, value));
          if (attention_.masks()) { // what it is then is no matter, also NaN
            Value isNothing = call(Function::Eq, {p, constant(0)});
            more = make<arith::SelectOp>(isNothing, sum, more);
          }
          next.push_back(more);
        }
        return next;
      });
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
  Values products = scores(key, end);
  Value own = add(key, lane_);
  for (auto [r, product] : llvm::enumerate(products)) {
    Value score = maskedScore(query(int64_t(r)), own, end, product);
    attend(int64_t(r), score, running[r]);
  }
  for (int64_t t = 0; t < attention_.featureTiles; ++t) {
    weighTile(t, key, end, running);
  }
  return carried(running);
}

void AttentionEmitter::finish(int64_t r, const Running &running) {
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
  Value shared = shareMemory(b, module, AttentionBuilder::realOf(b, attention),
                             AttentionEmitter::sharedFloats(attention));
  AttentionEmitter(b, attention, kernel.getArguments(), shared).emit();
}
