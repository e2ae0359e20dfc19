//===- EmitGather.cpp - Gathering in blocks of threads --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitGather.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/ElementBuilder.h"

using namespace mlir;
using namespace divisi;

using rt::GridGather;

namespace {

/// Emits what one thread does.
class GatherEmitter : ElementBuilder {
public:
  GatherEmitter(ImplicitLocOpBuilder &builder, const GridGather &gather,
                ValueRange arguments);
  void emit();
  /// What is checked.
  const IndexPlaces &places() const { return places_; }

private:
  const GridGather &gather_;
  Type element_;
  Value to_, data_, count_, rowStride_, offset_, rows_;
  ValueRange extents_, dataStrides_, indexStrides_;
  IndexPlaces places_;
};

} // namespace

GatherEmitter::GatherEmitter(ImplicitLocOpBuilder &builder,
                             const GridGather &gather, ValueRange arguments)
    : ElementBuilder(builder, arguments), gather_(gather),
      element_(builder.getIntegerType(unsigned(gather.width) * 8)) {
  size_t dims = gather.extents.size(), checked = gather.checkedExtents.size();
  to_ = take();
  data_ = take();
  places_.pointer = take();
  places_.type = gather.indexType;
  places_.found = take();
  count_ = take();
  extents_ = take(dims);
  dataStrides_ = take(dims);
  indexStrides_ = take(dims);
  rowStride_ = take();
  places_.rows = take();
  offset_ = take();
  rows_ = take();
  places_.count = take();
  places_.extents = take(checked);
  places_.strides = take(checked);
}

/// Rows that are not here are zeros, wherever else they are.
void GatherEmitter::emit() {
  Value zero =
      arith::ConstantIntOp::create(b_, 0, element_.getIntOrFloatBitWidth());
  forOwn(count_, [&](Value number_) {
    Value places[] = {number(0), number(0)};
    addStrides(number_, extents_, {dataStrides_, indexStrides_}, places);
    Value index = loadIndex(places_.pointer, gather_.indexType, places[1]);
    Value fromBegin =
        select(isLess(index, number(0)), add(index, places_.rows), index);
    Value row = sub(fromBegin, offset_);
    Value value = valueWhen(isInside(row, rows_), zero, [&] {
      return load(data_, element_, add(places[0], mul(row, rowStride_)));
    });
    store(value, to_, number_);
  });
}

void divisi::emitKernel(ModuleOp module, const GridGather &gather) {
  emitIndexedKernel<GatherEmitter>(module, gather);
}
