//===- ElementBuilder.cpp - Emitting what elements are --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ElementBuilder.h"
#include "divisi/runtime/code/GridGather.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/ThreadExchange.h"
#include "lib/Codegen/TypedFunctions.h"

#include <limits>

using namespace mlir;
using namespace divisi;

/// Of what is computed with.
static Type computedType(OpBuilder &builder, rt::DType type) {
  return type == rt::DType::Bool ? Type(builder.getI1Type())
                                 : storedElement(builder, computedAs(type));
}

ValueRange ElementBuilder::take(size_t count) {
  ValueRange taken = arguments_.take_front(count);
  arguments_ = arguments_.drop_front(count);
  return taken;
}

void ElementBuilder::forOwn(Value count, llvm::function_ref<void(Value)> body) {
  Value threads = position<gpu::BlockDimOp>(Dimension::x);
  Value begin = add(mul(position<gpu::BlockIdOp>(Dimension::x), threads),
                    position<gpu::ThreadIdOp>(Dimension::x));
  loop(begin, count, mul(position<gpu::GridDimOp>(Dimension::x), threads),
       body);
}

ThreadBuilder::Values ElementBuilder::indicesOf(Value index,
                                                ValueRange extents) {
  Values indices(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    indices[d] = d == 0 ? index : make<arith::RemUIOp>(index, extents[d]);
    if (d > 0) {
      index = make<arith::DivUIOp>(index, extents[d]);
    }
  }
  return indices;
}

Value ElementBuilder::loadElement(Value pointer, rt::DType type, Value index) {
  return fromStored(b_, load(pointer, storedElement(b_, type), index), type);
}

Value ElementBuilder::loadAs(Value pointer, rt::DType from, rt::DType to,
                             Value index, Value zero) {
  Value element = cast(loadElement(pointer, from, index), from, to);
  return zero ? sub(element, zero) : element;
}

void ElementBuilder::storeElement(Value value, rt::DType type, Value pointer,
                                  Value index) {
  store(toStored(b_, value, type), pointer, index);
}

Value ElementBuilder::call(Function function, rt::DType type,
                           ValueRange operands) {
  rt::DType computed = computedAs(type);
  return emitTyped(b_, function, computed, computed, operands);
}

Value ElementBuilder::constant(rt::DType type, int64_t value) {
  if (rt::isFloatType(type)) {
    return emitConstant(b_, computedType(b_, type), double(value));
  }
  return arith::ConstantOp::create(
      b_, b_.getIntegerAttr(computedType(b_, type), value));
}

Value ElementBuilder::lowest(rt::DType type) {
  Type own = computedType(b_, type);
  if (rt::isFloatType(type)) {
    return emitConstant(b_, own, -std::numeric_limits<double>::infinity());
  }
  unsigned width = own.getIntOrFloatBitWidth();
  return arith::ConstantOp::create(
      b_, b_.getIntegerAttr(own, isUnsigned(type)
                                     ? llvm::APInt::getMinValue(width)
                                     : llvm::APInt::getSignedMinValue(width)));
}

Value ElementBuilder::cast(Value value, rt::DType from, rt::DType to) {
  rt::DType own = computedAs(from), computed = computedAs(to);
  if (own == computed) {
    return value;
  }
  return emitCast(b_, computed == to ? Function::Cast : Function::CastToOdd,
                  own, computed, value);
}

Value ElementBuilder::loadIndex(Value pointer, rt::DType type, Value place) {
  Value index = load(pointer, storedElement(b_, type), place);
  return type == rt::DType::I64 ? index
                                : make<arith::ExtSIOp>(b_.getI64Type(), index);
}

namespace {

/// Emits what a thread of the first block looks at.
class IndexChecker : ElementBuilder {
public:
  IndexChecker(ImplicitLocOpBuilder &builder, const IndexPlaces &places)
      : ElementBuilder(builder, ValueRange()), places_(places) {}
  void emit(Value shared);

private:
  Value indexOf(Value number_) {
    Value place = number(0);
    addStrides(number_, places_.extents, {places_.strides}, place);
    return loadIndex(places_.pointer, places_.type, place);
  }

  const IndexPlaces &places_;
};

} // namespace

void IndexChecker::emit(Value shared) {
  Value thread = position<gpu::ThreadIdOp>(Dimension::x);
  Value threads = position<gpu::BlockDimOp>(Dimension::x);
  Value none = number(rt::GridGather::none);
  Value isFirst = isEqual(position<gpu::BlockIdOp>(Dimension::x), number(0));
  Value end = select(isFirst, places_.count, number(0));
  Value twice = add(places_.rows, places_.rows);
  Values own = loop(thread, end, threads, none,
                    [&](Value number_, ValueRange last) -> Values {
                      Value isGood =
                          isInside(add(indexOf(number_), places_.rows), twice);
                      Value first = make<arith::MinUIOp>(number_, last[0]);
                      return {select(isGood, last[0], first)};
                    });
  when(isFirst, [&] {
    Value first = ThreadExchange(b_, thread, threads, shared)
                      .combine(own[0], none, [&](Value x, Value y) {
                        return make<arith::MinUIOp>(x, y);
                      });
    when(isEqual(thread, number(0)), [&] {
      store(first, places_.found, number(0));
      when(isLess(first, none),
           [&] { store(indexOf(first), places_.found, number(1)); });
    });
  });
}

void divisi::emitIndexCheck(ImplicitLocOpBuilder &builder,
                            const IndexPlaces &places, Value shared) {
  IndexChecker(builder, places).emit(shared);
}
