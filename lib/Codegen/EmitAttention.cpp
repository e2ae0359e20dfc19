//===- EmitAttention.cpp - Attending in blocks of threads -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitAttention.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/ThreadExchange.h"
#include "runtime/kernels/GridCode.h"

#include <limits>

using namespace mlir;
using namespace divisi;

using rt::GridAttention;

namespace {

/// Emits what one thread does.
class AttentionEmitter : ThreadBuilder {
public:
  AttentionEmitter(ImplicitLocOpBuilder &builder,
                   const GridAttention &attention, ValueRange arguments,
                   Value shared);
  void emit();

  /// What it computes with: f32, or f64 where elements are.
  static Type realOf(OpBuilder &builder, const GridAttention &attention) {
    return attention.type == rt::DType::F64 ? Type(builder.getF64Type())
                                            : Type(builder.getF32Type());
  }
  /// What a block shares, in floats: 32 rows of keys or values, each with an
  /// element more (so that lanes which read down a column find each in another
  /// bank), and a row of 32 for each query, of q and of p.
  static int64_t sharedFloats(const GridAttention &attention) {
    int64_t rows = attention.queries() * rt::mostWarps;
    return tile * (tile + 1) + 2 * rows * tile;
  }

private:
  static constexpr int64_t tile = GridAttention::tile;

  /// Of one query, what is known of the keys that have come by.
  struct Running {
    Value top, sum;
    Values features; ///< Of this lane, by tile.
  };

  Value extent(GridAttention::Number which) { return numbers_[which]; }
  Value constant(double value) { return emitConstant(b_, real_, value); }
  Value call(Function function, ValueRange operands) {
    return emitFunction(b_, function, operands);
  }
  Value isMinusInfinity(Value x) {
    return call(Function::Eq,
                {x, constant(-std::numeric_limits<double>::infinity())});
  }
  Value smaller(Value x, Value y) { return make<arith::MinSIOp>(x, y); }
  Value inBounds(Value x) {
    return make<arith::MaxSIOp>(number(0),
                                smaller(x, extent(GridAttention::Keys)));
  }
  Value both(Value x, Value y) { return make<arith::AndIOp>(x, y); }
  Value loadFrom(Value pointer, Value index) {
    Value stored = load(pointer, storedElement(b_, attention_.type), index);
    return fromStored(b_, stored, attention_.type);
  }
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
  Value hasQuery(int64_t r) {
    return isLess(query(r), extent(GridAttention::Queries));
  }
  Value overLanes(Function function, Value own);

  void enterHead(Value work);
  void loadTile(Value pointer, Value base, Value stride, Value key, Value end,
                Value column, Value columns);
  Values scores(Value key, Value end);
  Value maskedScore(int64_t r, Value key, Value end, Value score);
  Value addMask(int64_t r, Value key, Value score);
  void attend(int64_t r, Value score, Running &running);
  void weighTile(int64_t t, Value key, Value end,
                 MutableArrayRef<Running> running);
  Values carried(ArrayRef<Running> running);
  SmallVector<Running> unpack(ValueRange values);
  Values nextKeys(Value key, Value end, ValueRange last);
  void finish(int64_t r, const Running &running);

  const GridAttention &attention_;
  const rt::AttentionPlan &plan_;
  Type real_; ///< What is computed with.
  Value to_, q_, k_, v_, mask_, shared_;
  ValueRange numbers_, toStrides_, qStrides_, kStrides_, vStrides_,
      maskStrides_;
  Value lane_, warp_, warps_;
  // Of the queries that the block has at present.
  Value blockQuery_, firstQuery_, toBase_, qBase_, kBase_, vBase_, maskBase_;
};

} // namespace

AttentionEmitter::AttentionEmitter(ImplicitLocOpBuilder &builder,
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

/// What the 32 lanes have together, by each of them.
Value AttentionEmitter::overLanes(Function function, Value own) {
  return ThreadExchange(b_, lane_, number(rt::warpSize), shared_)
      .combineLanes(own,
                    [&](Value x, Value y) { return call(function, {x, y}); });
}

/// Goes to the queries of the block's part number `work`.
void AttentionEmitter::enterHead(Value work) {
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
          Value isThere = both(hasQuery(r), isLess(column, depth));
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

/// With what the mask has for this lane's key, which the query may attend.
Value AttentionEmitter::addMask(int64_t r, Value key, Value score) {
  Value place = add(add(maskBase_, mul(query(r), maskStrides_[2])),
                    mul(key, maskStrides_[3]));
  Value never = constant(-std::numeric_limits<double>::infinity());
  if (plan_.masksByBool) {
    Value flag = load(mask_, b_.getI8Type(), place);
    return make<arith::SelectOp>(fromStored(b_, flag, rt::DType::Bool), score,
                                 never);
  }
  Value bias = loadFrom(mask_, place);
  return make<arith::SelectOp>(isMinusInfinity(bias), bias,
                               make<arith::AddFOp>(score, bias));
}

/// What softmax takes; minus infinity where the query does not attend.
Value AttentionEmitter::maskedScore(int64_t r, Value key, Value end,
                                    Value score) {
  score = make<arith::MulFOp>(constant(plan_.scale), score);
  if (plan_.softcap > 0) {
    Value cap = constant(plan_.softcap);
    score = make<arith::MulFOp>(
        cap, call(Function::Tanh, make<arith::DivFOp>(score, cap)));
  }
  Value from = add(query(r), extent(GridAttention::First));
  Value to = add(query(r), extent(GridAttention::End));
  Value isAttended =
      both(both(hasQuery(r), isLess(key, end)),
           both(isLess(key, to),
                make<arith::CmpIOp>(arith::CmpIPredicate::sle, from, key)));
  Value never = constant(-std::numeric_limits<double>::infinity());
  return valueWhen(isAttended, never, [&] {
    return plan_.hasMask ? addMask(r, key, score) : score;
  });
}

/// Takes this lane's key into account, and those of the other lanes.
void AttentionEmitter::attend(int64_t r, Value score, Running &running) {
  Value top =
      call(Function::Max, {overLanes(Function::Max, score), running.top});
  Value zero = constant(0);
  // What is attended by nobody yet is no number to be subtracted.
  Value from = make<arith::SelectOp>(isMinusInfinity(top), zero, top);
  auto weight = [&](Value of) {
    Value e = call(Function::Exp, make<arith::SubFOp>(of, from));
    return make<arith::SelectOp>(isMinusInfinity(of), zero, e);
  };
  Value own = weight(score), before = weight(running.top);
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
    Value score = maskedScore(int64_t(r), own, end, product);
    attend(int64_t(r), score, running[r]);
  }
  for (int64_t t = 0; t < attention_.featureTiles; ++t) {
    weighTile(t, key, end, running);
  }
  return carried(running);
}

void AttentionEmitter::finish(int64_t r, const Running &running) {
  double ofNothing =
      plan_.makesNan ? std::numeric_limits<double>::quiet_NaN() : 0;
  Value scale =
      make<arith::SelectOp>(isMinusInfinity(running.top), constant(ofNothing),
                            make<arith::DivFOp>(constant(1), running.sum));
  Value row = add(toBase_, mul(query(r), toStrides_[2]));
  for (auto [t, feature] : llvm::enumerate(running.features)) {
    Value column = add(number(int64_t(t) * tile), lane_);
    Value isThere =
        both(hasQuery(r), isLess(column, extent(GridAttention::Features)));
    when(isThere, [&] {
      Value value = make<arith::MulFOp>(feature, scale);
      store(toStored(b_, value, attention_.type), to_, add(row, column));
    });
  }
}

void AttentionEmitter::emit() {
  Value work =
      mul(extent(GridAttention::Tiles),
          mul(extent(GridAttention::Batch), extent(GridAttention::Heads)));
  Running none{constant(-std::numeric_limits<double>::infinity()), constant(0),
               Values(size_t(attention_.featureTiles), constant(0))};
  SmallVector<Running> nothing(size_t(attention_.queries()), none);
  loop(
      position<gpu::BlockIdOp>(Dimension::x), work,
      position<gpu::GridDimOp>(Dimension::x), [&](Value own) {
        enterHead(own);
        Value last = make<arith::SubIOp>(
            smaller(add(blockQuery_, mul(warps_, number(attention_.queries()))),
                    extent(GridAttention::Queries)),
            number(1));
        // What the first query of the block attends up to what its last does.
        Value begin = inBounds(add(blockQuery_, extent(GridAttention::First)));
        Value end = inBounds(add(last, extent(GridAttention::End)));
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
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, attention.pointerCount(), attention.numberCount());
  Value shared = shareMemory(b, module, AttentionEmitter::realOf(b, attention),
                             AttentionEmitter::sharedFloats(attention));
  AttentionEmitter(b, attention, kernel.getArguments(), shared).emit();
}
