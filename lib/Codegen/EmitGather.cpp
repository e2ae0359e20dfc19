//===- EmitGather.cpp - Gathering in blocks of threads --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitGather.h"
#include "lib/Codegen/ThreadExchange.h"
#include "runtime/kernels/GridCode.h"

using namespace mlir;
using namespace divisi;

using rt::GridGather;

namespace {

/// Emits what one thread does.
class GatherEmitter : ThreadBuilder {
public:
  GatherEmitter(ImplicitLocOpBuilder &builder, const GridGather &gather,
                ValueRange arguments);
  void emitElements();
  void emitCheck(Value shared);

private:
  Value indexAt(Value place);
  Value isInside(Value index, Value end);

  const GridGather &gather_;
  Type element_;
  Value to_, data_, indices_, found_;
  Value count_, rowStride_, global_, offset_, rows_, checked_;
  ValueRange extents_, dataStrides_, indexStrides_, checkedExtents_,
      checkedStrides_;
  Value thread_, threads_;
};

} // namespace

GatherEmitter::GatherEmitter(ImplicitLocOpBuilder &builder,
                             const GridGather &gather, ValueRange arguments)
    : ThreadBuilder(builder), gather_(gather),
      element_(builder.getIntegerType(unsigned(gather.width) * 8)),
      to_(arguments[0]), data_(arguments[1]), indices_(arguments[2]),
      found_(arguments[3]) {
  size_t next = 4;
  auto take = [&](size_t count) {
    next += count;
    return arguments.slice(next - count, count);
  };
  size_t dims = gather.extents.size(), checked = gather.checkedExtents.size();
  count_ = take(1)[0];
  extents_ = take(dims);
  dataStrides_ = take(dims);
  indexStrides_ = take(dims);
  rowStride_ = take(1)[0];
  global_ = take(1)[0];
  offset_ = take(1)[0];
  rows_ = take(1)[0];
  checked_ = take(1)[0];
  checkedExtents_ = take(checked);
  checkedStrides_ = take(checked);
  thread_ = position<gpu::ThreadIdOp>(Dimension::x);
  threads_ = position<gpu::BlockDimOp>(Dimension::x);
}

Value GatherEmitter::indexAt(Value place) {
  bool isWide = gather_.indexType == rt::DType::I64;
  Value index =
      load(indices_, isWide ? b_.getI64Type() : b_.getI32Type(), place);
  return isWide ? index : make<arith::ExtSIOp>(b_.getI64Type(), index);
}

/// Whether 0 <= index < end.
Value GatherEmitter::isInside(Value index, Value end) {
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, index, end);
}

/// Rows that are not here are zeros, wherever else they are.
void GatherEmitter::emitElements() {
  Value begin =
      add(mul(position<gpu::BlockIdOp>(Dimension::x), threads_), thread_);
  Value step = mul(position<gpu::GridDimOp>(Dimension::x), threads_);
  Value zero =
      arith::ConstantIntOp::create(b_, 0, element_.getIntOrFloatBitWidth());
  loop(begin, count_, step, [&](Value number_) {
    Value places[] = {number(0), number(0)};
    addStrides(number_, extents_, {dataStrides_, indexStrides_}, places);
    Value index = indexAt(places[1]);
    Value fromBegin = make<arith::SelectOp>(isLess(index, number(0)),
                                            add(index, global_), index);
    Value row = make<arith::SubIOp>(fromBegin, offset_);
    Value value = valueWhen(isInside(row, rows_), zero, [&] {
      return load(data_, element_, add(places[0], mul(row, rowStride_)));
    });
    store(value, to_, number_);
  });
}

void GatherEmitter::emitCheck(Value shared) {
  Value none = number(GridGather::none);
  Value isFirst = isEqual(position<gpu::BlockIdOp>(Dimension::x), number(0));
  Value end = make<arith::SelectOp>(isFirst, checked_, number(0));
  auto indexOf = [&](Value number_) {
    Value place = number(0);
    addStrides(number_, checkedExtents_, {checkedStrides_}, place);
    return indexAt(place);
  };
  Value twice = add(global_, global_);
  Values own = loop(thread_, end, threads_, none,
                    [&](Value number_, ValueRange last) -> Values {
                      Value isGood =
                          isInside(add(indexOf(number_), global_), twice);
                      Value first = make<arith::MinUIOp>(number_, last[0]);
                      return {make<arith::SelectOp>(isGood, last[0], first)};
                    });
  when(isFirst, [&] {
    Value first = ThreadExchange(b_, thread_, threads_, shared)
                      .combine(own[0], none, [&](Value x, Value y) {
                        return make<arith::MinUIOp>(x, y);
                      });
    when(isEqual(thread_, number(0)), [&] {
      store(first, found_, number(0));
      when(isLess(first, none),
           [&] { store(indexOf(first), found_, number(1)); });
    });
  });
}

void divisi::emitKernel(ModuleOp module, const GridGather &gather) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, gather.pointerCount(), gather.numberCount());
  Value shared = shareMemory(b, module, b.getI64Type(), rt::mostWarps);
  GatherEmitter emitter(b, gather, kernel.getArguments());
  emitter.emitElements();
  emitter.emitCheck(shared);
}
