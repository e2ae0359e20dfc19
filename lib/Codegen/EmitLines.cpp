//===- EmitLines.cpp - Lines in blocks of threads -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/ElementBuilder.h"
#include "lib/Codegen/EmitElements.h"
#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/ThreadExchange.h"
#include "lib/Codegen/TypedFunctions.h"

using namespace mlir;
using namespace divisi;

using rt::DType;
using rt::GridCumulate;
using rt::GridLines;
using rt::GridPick;

namespace {

/// What emitters of lines share.
class LineEmitter : protected ElementBuilder {
protected:
  LineEmitter(ImplicitLocOpBuilder &builder, const GridLines &lines,
              ValueRange arguments);

  /// Does `body` for each line that the threads of this row have together;
  /// `end` is 0 where there is none. All threads of the block come as often.
  void forLines(llvm::function_ref<void(Value to, Value from, Value end)> body);
  Value element(Value from, Value index) {
    return loadElement(from_, type_, add(from, mul(index, stepFrom_)));
  }

  DType type_;
  Value lane_, lanes_, row_;
  Value to_, from_, count_, length_, made_, stepTo_, stepFrom_;

private:
  ValueRange extents_, toStrides_, fromStrides_;
};

} // namespace

LineEmitter::LineEmitter(ImplicitLocOpBuilder &builder, const GridLines &lines,
                         ValueRange arguments)
    : ElementBuilder(builder, arguments), type_(lines.type) {
  size_t dims = lines.extents.size();
  to_ = take();
  from_ = take();
  count_ = take();
  length_ = take();
  made_ = take();
  stepTo_ = take();
  stepFrom_ = take();
  extents_ = take(dims);
  toStrides_ = take(dims);
  fromStrides_ = take(dims);
  lane_ = position<gpu::ThreadIdOp>(Dimension::x);
  lanes_ = position<gpu::BlockDimOp>(Dimension::x);
  row_ = position<gpu::ThreadIdOp>(Dimension::y);
}

void LineEmitter::forLines(llvm::function_ref<void(Value, Value, Value)> body) {
  Value ofBlock = position<gpu::BlockDimOp>(Dimension::y);
  Value begin = mul(position<gpu::BlockIdOp>(Dimension::x), ofBlock);
  Value step = mul(position<gpu::GridDimOp>(Dimension::x), ofBlock);
  loop(begin, count_, step, [&](Value first) {
    Value line = add(first, row_);
    Value isThere = isLess(line, count_);
    Value places[] = {number(0), number(0)};
    addStrides(select(isThere, line, number(0)), extents_,
               {toStrides_, fromStrides_}, places);
    body(places[0], places[1], select(isThere, length_, number(0)));
  });
}

//===----------------------------------------------------------------------===//
// cumulate
//===----------------------------------------------------------------------===//

namespace {

/// Emits what one thread does.
class CumulateEmitter : LineEmitter {
public:
  CumulateEmitter(ImplicitLocOpBuilder &builder, const GridCumulate &cumulate,
                  ValueRange arguments)
      : LineEmitter(builder, cumulate.lines, arguments), cumulate_(cumulate) {}

  /// What sums are made in: f32 in f64, as the reference does.
  static DType sumsOf(DType type) {
    return type == DType::F32 ? DType::F64 : computedAs(type);
  }
  void emit(Value shared);

private:
  Value combine(Value x, Value y) {
    return call(cumulate_.isProduct ? Function::Mul : Function::Add, sum_,
                {x, y});
  }
  Value place(Value index) {
    return cumulate_.reverse ? sub(sub(length_, number(1)), index) : index;
  }
  Value next(Value from, Value index, Value sum) {
    return combine(sum, cast(element(from, place(index)), type_, sum_));
  }

  const GridCumulate &cumulate_;
  DType sum_ = sumsOf(cumulate_.lines.type);
};

} // namespace

void CumulateEmitter::emit(Value shared) {
  Value neutral = cumulate_.isProduct ? one(sum_) : zero(sum_);
  Value share = make<arith::CeilDivUIOp>(length_, lanes_);
  auto inShared = [&](Value lane) { return add(mul(row_, lanes_), lane); };
  auto least = [&](Value x, Value y) { return make<arith::MinSIOp>(x, y); };
  forLines([&](Value to, Value from, Value end) {
    Value begin = least(mul(lane_, share), end);
    Value ownEnd = least(add(begin, share), end);
    Value own = loop(begin, ownEnd, number(1), neutral,
                     [&](Value index, ValueRange last) -> Values {
                       return {next(from, index, last[0])};
                     })[0];
    store(own, shared, inShared(lane_));
    barrier();
    Value before = loop(number(0), lane_, number(1), neutral,
                        [&](Value lane, ValueRange last) -> Values {
                          return {combine(last[0], load(shared, own.getType(),
                                                        inShared(lane)))};
                        })[0];
    barrier(); // before anybody writes the next ones
    loop(begin, ownEnd, number(1), before,
         [&](Value index, ValueRange last) -> Values {
           Value sum = next(from, index, last[0]);
           Value value = cumulate_.exclusive ? last[0] : sum;
           storeElement(cast(value, sum_, type_), type_, to_,
                        add(to, mul(place(index), stepTo_)));
           return {sum};
         });
  });
}

void divisi::emitKernel(ModuleOp module, const GridCumulate &cumulate) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, cumulate.pointerCount(), cumulate.numberCount());
  DType sum = CumulateEmitter::sumsOf(cumulate.lines.type);
  Value shared = shareMemory(b, module, storedElement(b, sum),
                             rt::warpSize * rt::mostWarps);
  CumulateEmitter(b, cumulate, kernel.getArguments()).emit(shared);
}

//===----------------------------------------------------------------------===//
// arg_reduce, top_k
//===----------------------------------------------------------------------===//

namespace {

/// The same. Elements have keys, an unsigned i64, of which the largest comes
/// first, and among equal ones that with the lowest rank.
class PickEmitter : LineEmitter {
public:
  PickEmitter(ImplicitLocOpBuilder &builder, const GridPick &pick,
              ValueRange arguments)
      : LineEmitter(builder, pick.lines, arguments), pick_(pick) {}
  void emit(Value shared);

private:
  Value rankOf(Value index) {
    return pick_.last ? sub(sub(length_, number(1)), index) : index;
  }
  Value keyOf(Value element);
  Value isMore(Value x, Value y) {
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::ugt, x, y);
  }
  Values findOwn(Value from, Value end, ValueRange picked);

  const GridPick &pick_;
  Value none_; ///< A rank that none has.
};

} // namespace

/// The bits of a float, of which those of negative ones count downwards.
Value PickEmitter::keyOf(Value element) {
  Value sign = number(INT64_MIN), ones = number(-1), isNan;
  Value key;
  if (rt::isFloatType(type_)) {
    Value wide = cast(element, type_, DType::F64);
    isNan = call(Function::IsNan, DType::F64, {wide});
    // -0 is 0.
    wide = call(Function::Add, DType::F64, {wide, zero(DType::F64)});
    Value bits = make<arith::BitcastOp>(b_.getI64Type(), wide);
    Value mask = select(isLess(bits, number(0)), ones, sign);
    key = make<arith::XOrIOp>(bits, mask);
  } else {
    key = emitCast(b_, Function::Cast, type_,
                   isUnsigned(type_) ? DType::U64 : DType::I64, element);
    key = isUnsigned(type_) ? key : make<arith::XOrIOp>(key, sign);
  }
  key = pick_.largest ? key : make<arith::XOrIOp>(key, ones);
  if (isNan) {
    bool isFirst = pick_.largest || pick_.nanFirst;
    key = select(isNan, isFirst ? ones : number(0), key);
  }
  return key;
}

/// The key and the rank of what comes first of this thread's elements, after
/// what was picked, which is as much if it is anything.
ThreadBuilder::Values PickEmitter::findOwn(Value from, Value end,
                                           ValueRange picked) {
  Values none = {number(0), none_};
  return loop(
      lane_, end, lanes_, none, [&](Value index, ValueRange best) -> Values {
        Value key = keyOf(element(from, index)), rank = rankOf(index);
        auto isBehind = [&](Value otherKey, Value otherRank, Value ownKey,
                            Value ownRank) -> Value {
          return make<arith::OrIOp>(
              isMore(otherKey, ownKey),
              both(isEqual(otherKey, ownKey), isLess(otherRank, ownRank)));
        };
        Value isOpen = isBehind(picked[0], picked[1], key, rank);
        Value isBetter = isBehind(key, rank, best[0], best[1]);
        Value takes = both(isOpen, isBetter);
        return {select(takes, key, best[0]), select(takes, rank, best[1])};
      });
}

void PickEmitter::emit(Value shared) {
  none_ = number(INT64_MAX);
  ThreadExchange exchange(b_, lane_, lanes_, shared);
  forLines([&](Value to, Value from, Value end) {
    Values nothing = {number(-1), number(-1)}; // before all
    loop(number(0), made_, number(1), nothing,
         [&](Value pick, ValueRange picked) -> Values {
           Values own = findOwn(from, end, picked);
           Value key =
               exchange.combine(own[0], number(0), [&](Value x, Value y) {
                 return make<arith::MaxUIOp>(x, y);
               });
           Value candidate = select(isEqual(own[0], key), own[1], none_);
           Value rank =
               exchange.combine(candidate, none_, [&](Value x, Value y) {
                 return make<arith::MinSIOp>(x, y);
               });
           Value isOurs =
               both(isEqual(lane_, number(0)), isLess(number(0), end));
           when(isOurs,
                [&] { store(rankOf(rank), to_, add(to, mul(pick, stepTo_))); });
           return {key, rank};
         });
  });
}

void divisi::emitKernel(ModuleOp module, const GridPick &pick) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel = beginKernel(b, module, pick.pointerCount(), pick.numberCount());
  Value shared = shareMemory(b, module, b.getI64Type(), rt::mostWarps);
  PickEmitter(b, pick, kernel.getArguments()).emit(shared);
}
