//===- EmitColumns.cpp - Lines that lie across, by threads ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ElementBuilder.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/EmitElements.h"
#include "lib/Codegen/StoredElements.h"

using namespace mlir;
using namespace divisi;

using rt::GridColumns;

namespace {

/// Emits what one thread does.
class ColumnEmitter : ElementBuilder {
public:
  ColumnEmitter(ImplicitLocOpBuilder &builder, const GridColumns &columns,
                ValueRange arguments, Value shared)
      : ElementBuilder(builder, arguments), columns_(columns),
        type_(computedAs(columns.type)), shared_(shared) {}
  void emit();

private:
  Value element(Value index);
  Value reduce(Function function, Value neutral,
               llvm::function_ref<Value(Value element)> term);
  void forElements(llvm::function_ref<Value(Value element)> result);
  Value together(Function function, Value neutral, Value own);
  Value call(Function function, ValueRange operands) {
    return ElementBuilder::call(function, type_, operands);
  }
  void softmax();
  void normalize();

  const GridColumns &columns_;
  rt::DType type_;
  Value shared_, to_, from_, length_;
  ValueRange lineExtents_, toLine_, fromLine_;
  // Of the line that the thread has at present.
  Value column_, part_, toPlace_, fromPlace_, end_;
};

} // namespace

/// Of the line, as it is computed with.
Value ColumnEmitter::element(Value index) {
  Value place = fromPlace_;
  addStrides(index, lineExtents_, {fromLine_}, place);
  return loadElement(from_, columns_.type, place);
}

/// What the parts of the line have come to, by each of them.
Value ColumnEmitter::together(Function function, Value neutral, Value own) {
  Value columns = number(GridColumns::columns);
  auto inShared = [&](Value part) { return add(mul(part, columns), column_); };
  store(own, shared_, inShared(part_));
  barrier();
  Value all = loop(number(0), number(GridColumns::parts), number(1), neutral,
                   [&](Value part, ValueRange last) -> Values {
                     Value other = load(shared_, own.getType(), inShared(part));
                     return {call(function, {last[0], other})};
                   })[0];
  barrier(); // before anybody writes the next ones
  return all;
}

Value ColumnEmitter::reduce(Function function, Value neutral,
                            llvm::function_ref<Value(Value)> term) {
  Value own = loop(part_, end_, number(GridColumns::parts), neutral,
                   [&](Value index, ValueRange last) -> Values {
                     return {call(function, {last[0], term(element(index))})};
                   })[0];
  return together(function, neutral, own);
}

void ColumnEmitter::forElements(llvm::function_ref<Value(Value)> result) {
  loop(part_, end_, number(GridColumns::parts), [&](Value index) {
    Value value = result(element(index)), place = toPlace_;
    addStrides(index, lineExtents_, {toLine_}, place);
    storeElement(value, columns_.type, to_, place);
  });
}

void ColumnEmitter::softmax() {
  Value top = reduce(Function::Max, lowest(type_), [](Value x) { return x; });
  auto shifted = [&](Value x) { return call(Function::Sub, {x, top}); };
  Value sum = reduce(Function::Add, zero(type_), [&](Value x) {
    return call(Function::Exp, {shifted(x)});
  });
  Value log = columns_.isLog ? call(Function::Log, {sum}) : Value();
  forElements([&](Value x) {
    return log ? call(Function::Sub, {shifted(x), log})
               : call(Function::Div, {call(Function::Exp, {shifted(x)}), sum});
  });
}

void ColumnEmitter::normalize() {
  Type real = storedElement(b_, type_);
  Value count = make<arith::SIToFPOp>(real, length_);
  Value mean =
      columns_.centers
          ? call(Function::Div,
                 {reduce(Function::Add, zero(type_), [](Value x) { return x; }),
                  count})
          : zero(type_);
  auto centred = [&](Value x) { return call(Function::Sub, {x, mean}); };
  Value squares = reduce(Function::Add, zero(type_), [&](Value x) {
    return call(Function::Mul, {centred(x), centred(x)});
  });
  Value variance = call(Function::Div, {squares, count});
  Value epsilon = emitConstant(b_, real, columns_.epsilon);
  Value scale =
      call(Function::Rsqrt, {call(Function::Add, {variance, epsilon})});
  forElements(
      [&](Value x) { return call(Function::Mul, {centred(x), scale}); });
}

void ColumnEmitter::emit() {
  size_t kept = columns_.extents.size(), line = columns_.lineExtents.size();
  to_ = take();
  from_ = take();
  Value count = take();
  length_ = take();
  ValueRange extents = take(kept), to = take(kept), from = take(kept);
  lineExtents_ = take(line);
  toLine_ = take(line);
  fromLine_ = take(line);
  column_ = position<gpu::ThreadIdOp>(Dimension::x);
  part_ = position<gpu::ThreadIdOp>(Dimension::y);
  Value columns = number(GridColumns::columns);
  Value begin = mul(position<gpu::BlockIdOp>(Dimension::x), columns);
  Value step = mul(position<gpu::GridDimOp>(Dimension::x), columns);
  loop(begin, count, step, [&](Value first) {
    Value own = add(first, column_);
    Value isThere = isLess(own, count);
    Value places[] = {number(0), number(0)};
    addStrides(select(isThere, own, number(0)), extents, {to, from}, places);
    toPlace_ = places[0];
    fromPlace_ = places[1];
    end_ = select(isThere, length_, number(0));
    columns_.isSoftmax ? softmax() : normalize();
  });
}

void divisi::emitKernel(ModuleOp module, const GridColumns &columns) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, columns.pointerCount(), columns.numberCount());
  Value shared =
      shareMemory(b, module, storedElement(b, computedAs(columns.type)),
                  GridColumns::columns * GridColumns::parts);
  ColumnEmitter(b, columns, kernel.getArguments(), shared).emit();
}
