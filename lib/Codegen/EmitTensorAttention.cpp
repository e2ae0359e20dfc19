//===- EmitTensorAttention.cpp - Attention on tensor cores ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/AttentionBuilder.h"
#include "lib/Codegen/LowerGrid.h"
#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/TensorPairs.h"

#include <limits>

using namespace mlir;
using namespace divisi;

using rt::GridAttention;

namespace {

/// Emits what one thread does: of 16 queries of its warp it has a part of what
/// WarpProduct multiplies. Scores of queries and keys lie among threads as a
/// product's result, and so do weights as the left side of the next product.
class TensorAttentionEmitter : AttentionBuilder {
public:
  TensorAttentionEmitter(ImplicitLocOpBuilder &builder,
                         const GridAttention &attention, ValueRange arguments,
                         Value shared);
  void emit();

  /// What a block shares, in words of 32 bits.
  static int64_t sharedWords(const GridAttention &attention) {
    return Layout(attention).words();
  }

private:
  static constexpr int64_t columns = WarpProduct::columns;
  static constexpr int64_t scoreTiles = TensorPairs::resultTiles;

  /// Where the block has what it shares, in elements: rows of keys, of each
  /// feature of values, and of queries.
  struct Layout {
    explicit Layout(const GridAttention &attention)
        : depth(attention.depthTiles * WarpProduct::depth),
          features(attention.featureTiles * columns),
          pitch(attention.tensorPitch()), warps(attention.tensorWarps()) {}
    static constexpr int64_t valuePitch = GridAttention::valuePitch;

    int64_t values() const { return tile * pitch; }
    int64_t queries() const { return values() + features * valuePitch; }
    int64_t flagWords() const {
      return (queries() + warps * WarpProduct::rows * pitch) / 2;
    }
    int64_t words() const { return flagWords() + warps; }

    int64_t depth, features, pitch, warps;
  };

  /// What is known of the keys that have come by: of this lane's two queries,
  /// and of its features, four for each tile of them, as WarpProduct has them.
  struct Running {
    Value top[2], sum[2]; ///< Of the sum, what this lane has had of it.
    Values features;
  };

  size_t featureTiles() const { return size_t(attention_.featureTiles); }
  /// The lane's first row, and the first of the pair that it has of others.
  Value query(int64_t half) {
    return add(firstQuery_, add(pairs_.row(), number(half * 8)));
  }
  Value hasFeature(Value feature) {
    return isLess(feature, extent(GridAttention::Features));
  }
  Value keyOf(Value key, int64_t n, int64_t i) {
    return add(key, add(pairs_.column(), number(n * columns + i)));
  }
  Value toReal(Value bits);
  Value isNoNumber(Value bits);
  Value shareValue(Value key, Value end, Value row);
  void shareQueries();
  Value shareKeys(Value key, Value end);
  Value anyOfBlock(Value own);

  Values products();
  Values attend(Value key, Value end, ValueRange scores, Running &running);
  Value attendedKeys(ValueRange weights);
  Values addNoNumbers(Value base, Value row, Value attended, Value otherwise,
                      size_t first, ValueRange sums);
  void weighNoNumbers(Value hasAny, Value key, Value end, ValueRange weights,
                      Running &running);
  Values carried(const Running &running);
  Running unpack(ValueRange values);
  Values nextKeys(Value key, Value end, ValueRange last);
  void finish(const Running &running);

  const Layout layout_;
  TensorPairs pairs_;
};

} // namespace

TensorAttentionEmitter::TensorAttentionEmitter(ImplicitLocOpBuilder &builder,
                                               const GridAttention &attention,
                                               ValueRange arguments,
                                               Value shared)
    : AttentionBuilder(builder, attention, arguments, shared),
      layout_(attention), pairs_(builder, attention.type, shared) {}

Value TensorAttentionEmitter::toReal(Value bits) {
  if (attention_.type == rt::DType::F16) {
    bits = make<arith::BitcastOp>(Type(b_.getF16Type()), bits);
  }
  return fromStored(b_, bits, attention_.type);
}

/// Whether the exponent is what infinities and NaN have.
Value TensorAttentionEmitter::isNoNumber(Value bits) {
  int64_t exponent = attention_.type == rt::DType::F16 ? 0x7c00 : 0x7f80;
  Value mask = arith::ConstantIntOp::create(b_, exponent, 16);
  return isEqual(make<arith::AndIOp>(bits, mask), mask);
}

/// Lets the warp share a row of values as a column: infinities and NaN as
/// zeros. Whether there are any.
Value TensorAttentionEmitter::shareValue(Value key, Value end, Value row) {
  Value own = add(key, row), zero = arith::ConstantIntOp::create(b_, 0, 16);
  Value isThere = isLess(own, end);
  Value base = add(vBase_, mul(own, vStrides_[2]));
  Value nothing = arith::ConstantIntOp::create(b_, 0, 1);
  return loop(lane_, number(layout_.features), number(rt::warpSize), nothing,
              [&](Value e, ValueRange last) -> Values {
                Value inside = both(isThere, hasFeature(e));
                Value bits = valueWhen(inside, zero, [&] {
                  return pairs_.loadBits(v_, add(base, e));
                });
                Value isNone = isNoNumber(bits);
                Value place = add(mul(e, number(Layout::valuePitch)), row);
                store(make<arith::SelectOp>(isNone, zero, bits), shared_,
                      add(place, number(layout_.values())));
                return {either(last[0], isNone)};
              })[0];
}

void TensorAttentionEmitter::shareQueries() {
  loop(number(0), number(WarpProduct::rows), number(1), [&](Value r) {
    Value query = add(firstQuery_, r);
    Value row = add(mul(warp_, number(WarpProduct::rows)), r);
    Value place =
        add(mul(row, number(layout_.pitch)), number(layout_.queries()));
    pairs_.shareRow(queryRows(), query, hasQuery(query), layout_.depth,
                    [&](Value column, Value bits) {
                      store(bits, shared_, add(place, column));
                    });
  });
}

/// Lets the block share keys, from `key` up to `end`, and their values; whether
/// any of these is no number. The keys come to be seen by all.
Value TensorAttentionEmitter::shareKeys(Value key, Value end) {
  Value nothing = arith::ConstantIntOp::create(b_, 0, 1);
  Value any =
      loop(warp_, number(tile), warps_, nothing,
           [&](Value row, ValueRange last) -> Values {
             Value own = add(key, row);
             Value place = mul(row, number(layout_.pitch));
             pairs_.shareRow(keyRows(), own, isLess(own, end), layout_.depth,
                             [&](Value column, Value bits) {
                               store(bits, shared_, add(place, column));
                             });
             return attention_.makesLse
                        ? Values(last)
                        : Values{either(last[0], shareValue(key, end, row))};
           })[0];
  return anyOfBlock(any);
}

/// Whether it holds for any thread. A barrier is within.
Value TensorAttentionEmitter::anyOfBlock(Value own) {
  Type word = b_.getI32Type();
  auto any = [&](Value x, Value y) { return either(x, y); };
  Value ofWarp = exchange().combineLanes(make<arith::ExtUIOp>(word, own), any);
  Value first = number(layout_.flagWords());
  when(isEqual(lane_, number(0)),
       [&] { store(ofWarp, shared_, add(first, warp_)); });
  barrier();
  Value zero = arith::ConstantIntOp::create(b_, 0, 32);
  Value all = loop(number(0), warps_, number(1), zero,
                   [&](Value warp, ValueRange last) -> Values {
                     Value next = load(shared_, word, add(first, warp));
                     return {either(last[0], next)};
                   })[0];
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, all, zero);
}

/// Of queries and keys that are shared: four for each tile of keys.
ThreadBuilder::Values TensorAttentionEmitter::products() {
  Value ofWarp = mul(warp_, number(WarpProduct::rows * layout_.pitch));
  return pairs_.products(add(ofWarp, number(layout_.queries())), number(0),
                         layout_.pitch, attention_.depthTiles);
}

/// What keys weigh, in place of their scores; takes their sums into account.
ThreadBuilder::Values TensorAttentionEmitter::attend(Value key, Value end,
                                                     ValueRange scores,
                                                     Running &running) {
  Values weights(scores);
  for (size_t half = 0; half < 2; ++half) {
    SmallVector<Value *> own;
    for (size_t n = 0; n < size_t(scoreTiles); ++n) {
      for (size_t i = 0; i < 2; ++i) {
        Value &score = weights[4 * n + 2 * half + i];
        score = maskedScore(query(int64_t(half)),
                            keyOf(key, int64_t(n), int64_t(i)), end,
                            cappedScore(score));
        own.push_back(&score);
      }
    }
    auto most = [&](Value x, Value y) { return call(Function::Max, {x, y}); };
    Value top = *own[0];
    for (Value *score : ArrayRef(own).drop_front()) {
      top = most(top, *score);
    }
    top = most(exchange().combineLanes(top, 4, most), running.top[half]);
    Value before = weight(running.top[half], top);
    Value sum = make<arith::MulFOp>(running.sum[half], before);
    for (Value *score : own) {
      *score = weight(*score, top);
      sum = make<arith::AddFOp>(sum, *score);
    }
    running.top[half] = top;
    running.sum[half] = sum;
    for (size_t n = 0; n < featureTiles(); ++n) {
      for (size_t i = 0; i < 2; ++i) {
        Value &feature = running.features[4 * n + 2 * half + i];
        feature = make<arith::MulFOp>(feature, before);
      }
    }
  }
  return weights;
}

/// Which keys of the tile have a weight: of this lane's first query in the
/// lower 32 bits, of its second one in the upper.
Value TensorAttentionEmitter::attendedKeys(ValueRange weights) {
  Value all;
  for (int64_t half : {1, 0}) {
    Value bits = number(0);
    for (int64_t n = 0; n < scoreTiles; ++n) {
      for (int64_t i = 0; i < 2; ++i) {
        Value p = weights[size_t(4 * n + 2 * half + i)];
        Value has = arith::CmpFOp::create(b_, arith::CmpFPredicate::UNE, p,
                                          constant(0));
        Value one = make<arith::ExtUIOp>(Type(b_.getI64Type()), has);
        bits = either(bits, make<arith::ShLIOp>(one, keyOf(number(0), n, i)));
      }
    }
    all = half == 1 ? make<arith::ShLIOp>(bits, number(32)) : either(all, bits);
  }
  return exchange().combineLanes(
      all, 4, [&](Value x, Value y) { return either(x, y); });
}

/// Adds those of a row's values that are no numbers to `sums`, of the features
/// from tile `first` on: a query that has not `attended` the row gets
/// `otherwise`.
ThreadBuilder::Values
TensorAttentionEmitter::addNoNumbers(Value base, Value row, Value attended,
                                     Value otherwise, size_t first,
                                     ValueRange sums) {
  Values next(sums);
  Value zero = arith::ConstantIntOp::create(b_, 0, 16);
  for (size_t n = 0; n < sums.size() / 4; ++n) {
    for (size_t i = 0; i < 2; ++i) {
      Value e = add(pairs_.column(),
                    number(int64_t(first + n) * columns + int64_t(i)));
      Value bits = valueWhen(hasFeature(e), zero,
                             [&] { return pairs_.loadBits(v_, add(base, e)); });
      Value isNone = isNoNumber(bits), value = toReal(bits);
      for (size_t half = 0; half < 2; ++half) {
        Value place = add(row, number(int64_t(half) * 32));
        Value bit = make<arith::ShRUIOp>(attended, place);
        Value has = make<arith::TruncIOp>(Type(b_.getI1Type()), bit);
        Value more = make<arith::SelectOp>(has, value, otherwise);
        more = make<arith::SelectOp>(isNone, more, constant(0));
        Value &sum = next[4 * n + 2 * half + i];
        sum = make<arith::AddFOp>(sum, more);
      }
    }
  }
  return next;
}

/// Adds the values that are no numbers, where there are any: to what they
/// weigh something for, since weights are no matter but for their being 0.
void TensorAttentionEmitter::weighNoNumbers(Value hasAny, Value key, Value end,
                                            ValueRange weights,
                                            Running &running) {
  Value attended =
      valueWhen(hasAny, number(0), [&] { return attendedKeys(weights); });
  Value left = smaller(number(tile), subtract(end, key));
  // What is attended and weighs nothing, times no number.
  Value otherwise = constant(
      attention_.masks() ? 0 : std::numeric_limits<double>::quiet_NaN());
  Value none = make<arith::SelectOp>(hasAny, left, number(0));
  // So many tiles at a time: of more, values would wait for registers.
  constexpr size_t most = 16;
  for (size_t first = 0; first < featureTiles(); first += most) {
    size_t count = 4 * std::min(most, featureTiles() - first);
    Values last(ArrayRef(running.features).slice(4 * first, count));
    Values sums =
        loop(number(0), none, number(1), last, [&](Value row, ValueRange sums) {
          Value base = add(vBase_, mul(add(key, row), vStrides_[2]));
          return addNoNumbers(base, row, attended, otherwise, first, sums);
        });
    llvm::copy(sums, running.features.begin() + 4 * first);
  }
}

ThreadBuilder::Values TensorAttentionEmitter::carried(const Running &running) {
  Values all = {running.top[0], running.top[1], running.sum[0], running.sum[1]};
  all.append(running.features);
  return all;
}

TensorAttentionEmitter::Running
TensorAttentionEmitter::unpack(ValueRange values) {
  return {{values[0], values[1]},
          {values[2], values[3]},
          Values(values.drop_front(4))};
}

ThreadBuilder::Values TensorAttentionEmitter::nextKeys(Value key, Value end,
                                                       ValueRange last) {
  Running running = unpack(last);
  Value hasNoNumbers = shareKeys(key, end);
  Values weights = attend(key, end, products(), running);
  if (!attention_.makesLse) {
    running.features = pairs_.weigh(weights, number(layout_.values()),
                                    Layout::valuePitch, running.features);
    weighNoNumbers(hasNoNumbers, key, end, weights, running);
  }
  barrier(); // before anybody shares the next ones
  return carried(running);
}

void TensorAttentionEmitter::finish(const Running &running) {
  auto plus = [&](Value x, Value y) { return make<arith::AddFOp>(x, y); };
  for (size_t half = 0; half < 2; ++half) {
    Value sum = exchange().combineLanes(running.sum[half], 4, plus);
    Value own = query(int64_t(half));
    if (attention_.makesLse) {
      when(isEqual(pairs_.column(), number(0)),
           [&] { storeLse(own, running.top[half], sum); });
      continue;
    }
    Value scale = finalScale(running.top[half], sum);
    Value row = add(toBase_, mul(own, toStrides_[2]));
    for (size_t n = 0; n < featureTiles(); ++n) {
      for (size_t i = 0; i < 2; ++i) {
        Value e =
            add(pairs_.column(), number(int64_t(n) * columns + int64_t(i)));
        Value feature = running.features[4 * n + 2 * half + i];
        when(both(hasQuery(own), hasFeature(e)), [&] {
          Value y = make<arith::MulFOp>(feature, scale);
          store(toStored(b_, y, attention_.type), to_, add(row, e));
        });
      }
    }
  }
}

void TensorAttentionEmitter::emit() {
  Values nothing = {never(), never(), constant(0), constant(0)};
  nothing.append(4 * featureTiles(), constant(0));
  forEachPart([&](Value begin, Value end) {
    shareQueries();
    finish(unpack(loop(
        begin, end, number(tile), nothing,
        [&](Value key, ValueRange last) { return nextKeys(key, end, last); })));
  });
}

void divisi::emitTensorAttention(ModuleOp module,
                                 const GridAttention &attention) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, attention.pointerCount(), attention.numberCount());
  // Sums are four registers a tile: of many, fewer blocks have room beside.
  bool isWide = attention.featureTiles > 12 || attention.depthTiles > 8;
  limitThreads(kernel, int(attention.tensorWarps()), isWide ? 2 : 3);
  Value shared = shareMemory(b, module, b.getI32Type(),
                             TensorAttentionEmitter::sharedWords(attention));
  TensorAttentionEmitter(b, attention, kernel.getArguments(), shared).emit();
}
