//===- EmitReduce.cpp - Reducing in blocks of threads ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitReduce.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/StoredElements.h"
#include "lib/Codegen/ThreadExchange.h"
#include "lib/Codegen/TypedFunctions.h"

#include <limits>

using namespace mlir;
using namespace divisi;

using rt::GridReduce;
using Kind = GridReduce::Kind;

namespace {

/// Emits what one thread does.
class ReduceEmitter : ThreadBuilder {
public:
  ReduceEmitter(ImplicitLocOpBuilder &builder, const GridReduce &reduce,
                ValueRange arguments);

  /// What elements are reduced in.
  Type type() const { return type_; }
  void emitAlongRows(Value shared);
  void emitColumns(Value shared);

private:
  /// Where a result lies, and from where on what is reduced to it.
  struct Place {
    Value to, from;
  };

  Place placeOf(Value result);
  Value neutral();
  Value combine(Value x, Value y);
  Value element(Value index);
  Value reducePart(Value from, Value begin, Value end, Value step);
  void finish(Value value, Value to);
  bool isFloat() const { return isa<FloatType>(type_); }

  const GridReduce &reduce_;
  Type stored_, type_;
  Value to_, from_, results_, count_;
  ValueRange keptExtents_, toStrides_, fromStrides_, reducedExtents_,
      reducedStrides_;
};

} // namespace

/// Sums of what is stored in less are made in 32 bits.
static Type reducedIn(OpBuilder &builder, rt::DType type) {
  if (rt::isFloatType(type)) {
    return type == rt::DType::F64 ? Type(builder.getF64Type())
                                  : builder.getF32Type();
  }
  return builder.getIntegerType(
      std::max(32U, unsigned(rt::byteWidth(type)) * 8));
}

ReduceEmitter::ReduceEmitter(ImplicitLocOpBuilder &builder,
                             const GridReduce &reduce, ValueRange arguments)
    : ThreadBuilder(builder), reduce_(reduce),
      stored_(storedElement(builder, reduce.from)),
      type_(reducedIn(builder, reduce.to)), to_(arguments[0]),
      from_(arguments[1]), results_(arguments[2]), count_(arguments[3]) {
  size_t next = 4;
  auto take = [&](size_t count) {
    next += count;
    return arguments.slice(next - count, count);
  };
  size_t kept = reduce.keptExtents.size(),
         reduced = reduce.reducedExtents.size();
  keptExtents_ = take(kept);
  toStrides_ = take(kept);
  fromStrides_ = take(kept);
  reducedExtents_ = take(reduced);
  reducedStrides_ = take(reduced);
}

ReduceEmitter::Place ReduceEmitter::placeOf(Value result) {
  Value sums[] = {number(0), number(0)};
  addStrides(result, keptExtents_, {toStrides_, fromStrides_}, sums);
  return {sums[0], sums[1]};
}

/// What nothing comes to: of the result's type, which may have fewer bits than
/// `type_`.
Value ReduceEmitter::neutral() {
  bool isLowest = reduce_.kind == Kind::Max,
       isHighest = reduce_.kind == Kind::Min;
  bool isOne = reduce_.kind == Kind::Prod || reduce_.kind == Kind::And;
  if (isFloat()) {
    double infinity = std::numeric_limits<double>::infinity();
    double value = isLowest ? -infinity : isHighest ? infinity : isOne;
    return arith::ConstantOp::create(b_, b_.getFloatAttr(type_, value));
  }
  unsigned bits = type_.getIntOrFloatBitWidth();
  unsigned own = reduce_.to == rt::DType::Bool
                     ? 1
                     : unsigned(rt::byteWidth(reduce_.to)) * 8;
  auto bound = [&](bool isMost) {
    return isUnsigned(reduce_.to)
               ? (isMost ? llvm::APInt::getMaxValue(own)
                         : llvm::APInt::getMinValue(own))
                     .zext(bits)
               : (isMost ? llvm::APInt::getSignedMaxValue(own)
                         : llvm::APInt::getSignedMinValue(own))
                     .sext(bits);
  };
  llvm::APInt value = isLowest    ? bound(false)
                      : isHighest ? bound(true)
                                  : llvm::APInt(bits, isOne);
  return arith::ConstantOp::create(b_, b_.getIntegerAttr(type_, value));
}

Value ReduceEmitter::combine(Value x, Value y) {
  if (isFloat()) {
    constexpr Function functions[] = {Function::Add, Function::Mul,
                                      Function::Max, Function::Min};
    return emitFunction(b_, functions[static_cast<size_t>(reduce_.kind)],
                        {x, y});
  }
  switch (reduce_.kind) {
  case Kind::Sum:
    return make<arith::AddIOp>(x, y);
  case Kind::Prod:
    return make<arith::MulIOp>(x, y);
  case Kind::Max:
    return isUnsigned(reduce_.to) ? make<arith::MaxUIOp>(x, y)
                                  : make<arith::MaxSIOp>(x, y);
  case Kind::Min:
    return isUnsigned(reduce_.to) ? make<arith::MinUIOp>(x, y)
                                  : make<arith::MinSIOp>(x, y);
  case Kind::And:
    return make<arith::AndIOp>(x, y);
  case Kind::Or:
    return make<arith::OrIOp>(x, y);
  }
  llvm_unreachable("all are there");
}

/// Of the operand, as it is reduced.
Value ReduceEmitter::element(Value index) {
  Value stored = load(from_, stored_, index);
  if (isFloat()) {
    return fromStored(b_, stored, reduce_.from);
  }
  if (reduce_.from == rt::DType::Bool) {
    return make<arith::ExtUIOp>(type_, fromStored(b_, stored, reduce_.from));
  }
  if (stored.getType() == type_) {
    return stored;
  }
  return isUnsigned(reduce_.from) ? make<arith::ExtUIOp>(type_, stored)
                                  : make<arith::ExtSIOp>(type_, stored);
}

/// Of what is reduced to one result, every `step`th element.
Value ReduceEmitter::reducePart(Value from, Value begin, Value end,
                                Value step) {
  return loop(begin, end, step, neutral(),
              [&](Value index, ValueRange last) -> Values {
                Value at = from;
                addStrides(index, reducedExtents_, {reducedStrides_}, at);
                return {combine(last[0], element(at))};
              })[0];
}

void ReduceEmitter::finish(Value value, Value to) {
  Type stored = storedElement(b_, reduce_.to);
  if (isFloat()) {
    value = toStored(b_, value, reduce_.to);
  } else if (value.getType() != stored) {
    value = make<arith::TruncIOp>(stored, value);
  }
  store(value, to_, to);
}

void ReduceEmitter::emitAlongRows(Value shared) {
  Value lane = position<gpu::ThreadIdOp>(Dimension::x);
  Value lanes = position<gpu::BlockDimOp>(Dimension::x);
  Value ofBlock = position<gpu::BlockDimOp>(Dimension::y);
  Value own = position<gpu::ThreadIdOp>(Dimension::y);
  Value begin = mul(position<gpu::BlockIdOp>(Dimension::x), ofBlock);
  Value step = mul(position<gpu::GridDimOp>(Dimension::x), ofBlock);
  loop(begin, results_, step, [&](Value first) {
    Value result = add(first, own);
    Value isThere = isLess(result, results_);
    Place place = placeOf(make<arith::SelectOp>(isThere, result, number(0)));
    Value end = make<arith::SelectOp>(isThere, count_, number(0));
    Value part = reducePart(place.from, lane, end, lanes);
    Value all = ThreadExchange(b_, lane, lanes, shared)
                    .combine(part, neutral(),
                             [&](Value x, Value y) { return combine(x, y); });
    when(make<arith::AndIOp>(isThere, isEqual(lane, number(0))),
         [&] { finish(all, place.to); });
  });
}

void ReduceEmitter::emitColumns(Value shared) {
  Value columns = number(GridReduce::columns);
  Value column = position<gpu::ThreadIdOp>(Dimension::x);
  Value part = position<gpu::ThreadIdOp>(Dimension::y);
  Value begin = mul(position<gpu::BlockIdOp>(Dimension::x), columns);
  Value step = mul(position<gpu::GridDimOp>(Dimension::x), columns);
  auto inShared = [&](Value ofPart) {
    return add(mul(ofPart, columns), column);
  };
  loop(begin, results_, step, [&](Value first) {
    Value result = add(first, column);
    Value isThere = isLess(result, results_);
    Place place = placeOf(make<arith::SelectOp>(isThere, result, number(0)));
    Value end = make<arith::SelectOp>(isThere, count_, number(0));
    Value parts = number(GridReduce::parts);
    store(reducePart(place.from, part, end, parts), shared, inShared(part));
    barrier();
    Value isFirst = isEqual(part, number(0));
    when(make<arith::AndIOp>(isThere, isFirst), [&] {
      Values all = loop(
          number(0), parts, number(1), neutral(),
          [&](Value other, ValueRange last) -> Values {
            return {combine(last[0], load(shared, type_, inShared(other)))};
          });
      finish(all[0], place.to);
    });
    barrier(); // before anybody writes the next ones
  });
}

void divisi::emitKernel(ModuleOp module, const GridReduce &reduce) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel = beginKernel(b, module, 2, reduce.numberCount());
  ReduceEmitter emitter(b, reduce, kernel.getArguments());
  Value shared = shareMemory(b, module, emitter.type(),
                             GridReduce::columns * GridReduce::parts);
  reduce.isAlongRow ? emitter.emitAlongRows(shared)
                    : emitter.emitColumns(shared);
}
