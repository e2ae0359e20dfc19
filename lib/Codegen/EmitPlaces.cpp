//===- EmitPlaces.cpp - Values of places, by threads ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ElementBuilder.h"
#include "lib/Codegen/EmitElements.h"

using namespace mlir;
using namespace divisi;

using rt::GridIota;
using rt::GridRotary;

namespace {

/// Emits what one thread does.
class IotaEmitter : ElementBuilder {
public:
  IotaEmitter(ImplicitLocOpBuilder &builder, ValueRange arguments)
      : ElementBuilder(builder, arguments) {}
  void emit(rt::DType type) {
    Value to = take(), count = take(), inner = take(), extent = take();
    Value first = take();
    forOwn(count, [&](Value index) {
      Value along =
          make<arith::RemUIOp>(make<arith::DivUIOp>(index, inner), extent);
      Value value = cast(add(first, along), rt::DType::I64, type);
      storeElement(value, type, to, index);
    });
  }
};

/// The same.
class RotaryEmitter : ElementBuilder {
public:
  RotaryEmitter(ImplicitLocOpBuilder &builder, const GridRotary &rotary,
                ValueRange arguments)
      : ElementBuilder(builder, arguments), rotary_(rotary) {}
  void emit();

private:
  Value rotate(Value mine, Value j, ArrayRef<Value> places);
  Value at(size_t operand, Value place, Value j) {
    return loadElement(tensors_[operand], rotary_.type,
                       add(place, sub(j, firsts_[operand + 1])));
  }

  const GridRotary &rotary_;
  ValueRange tensors_, firsts_;
  Value angles_;
};

} // namespace

/// Element j, which makes a pair with another one of x.
Value RotaryEmitter::rotate(Value mine, Value j, ArrayRef<Value> places) {
  Value one = number(1);
  Value isFirst = rotary_.interleaved
                      ? isEqual(make<arith::AndIOp>(j, one), number(0))
                      : isLess(j, angles_);
  Value partner = rotary_.interleaved
                      ? make<arith::XOrIOp>(j, one)
                      : select(isFirst, add(j, angles_), sub(j, angles_));
  Value angle = rotary_.interleaved ? make<arith::ShRUIOp>(j, one)
                                    : select(isFirst, j, partner);
  Value product = make<arith::MulFOp>(mine, at(1, places[1], angle));
  Value other =
      make<arith::MulFOp>(at(0, places[0], partner), at(2, places[2], angle));
  return select(isFirst, make<arith::SubFOp>(product, other),
                make<arith::AddFOp>(product, other));
}

void RotaryEmitter::emit() {
  size_t rank = rotary_.extents.size();
  Value to = take();
  tensors_ = take(3);
  Value count = take();
  ValueRange extents = take(rank);
  ValueRange strides[] = {take(rank), take(rank), take(rank)};
  angles_ = take();
  firsts_ = take(4);
  forOwn(count, [&](Value index) {
    Value places[] = {number(0), number(0), number(0)};
    addStrides(index, extents, strides, places);
    Value j = add(firsts_[0], make<arith::RemUIOp>(index, extents.back()));
    Value mine = at(0, places[0], j);
    Value isRotated = isLess(j, add(angles_, angles_));
    Value value =
        valueWhen(isRotated, mine, [&] { return rotate(mine, j, places); });
    storeElement(value, rotary_.type, to, index);
  });
}

void divisi::emitKernel(ModuleOp module, const GridIota &iota) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel = beginKernel(b, module, iota.pointerCount(), iota.numberCount());
  IotaEmitter(b, kernel.getArguments()).emit(iota.type);
}

void divisi::emitKernel(ModuleOp module, const GridRotary &rotary) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, rotary.pointerCount(), rotary.numberCount());
  RotaryEmitter(b, rotary, kernel.getArguments()).emit();
}
