//===- EmitScatter.cpp - Writing rows in blocks of threads ----------------===//
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

using namespace mlir;
using namespace divisi;

using rt::GridInsert;
using rt::GridScatter;
using Kind = GridScatter::Kind;

namespace {

/// What both emitters are handed first, and say of indices.
class WriteEmitter : protected ElementBuilder {
public:
  /// What is checked.
  const IndexPlaces &places() const { return places_; }

protected:
  WriteEmitter(ImplicitLocOpBuilder &builder, ValueRange arguments,
               rt::DType indexType)
      : ElementBuilder(builder, arguments) {
    to_ = take();
    init_ = take();
    more_ = take();
    places_.pointer = take();
    places_.type = indexType;
    places_.found = take();
  }
  /// Whether the result lies elsewhere than what it is made of.
  Value isElsewhere() {
    Type i64 = b_.getI64Type();
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::ne,
                                 make<LLVM::PtrToIntOp>(i64, to_),
                                 make<LLVM::PtrToIntOp>(i64, init_));
  }

  Value to_, init_, more_;
  IndexPlaces places_;
};

/// Emits what one thread does.
class ScatterEmitter : public WriteEmitter {
public:
  ScatterEmitter(ImplicitLocOpBuilder &builder, const GridScatter &scatter,
                 ValueRange arguments);
  void emit();

private:
  /// Of a column and a batch: where what lies.
  struct Column {
    Value to, init, updates, indices;
  };

  Column columnOf(Value batch, Value column);
  void copyRows(const Column &column, Value part);
  void writeRows(const Column &column, Value part);
  void write(Value to, Value from);

  const GridScatter &scatter_;
  Value count_, parts_, indexCount_, rows_, firstRow_, toStride_, initStride_;
  ValueRange batches_, toBatch_, initBatch_, indexBatch_, updateBatch_,
      rowExtents_, toRow_, initRow_, updateRow_, indexExtents_, indexStrides_,
      updateStrides_;
};

} // namespace

ScatterEmitter::ScatterEmitter(ImplicitLocOpBuilder &builder,
                               const GridScatter &scatter, ValueRange arguments)
    : WriteEmitter(builder, arguments, scatter.indexType), scatter_(scatter) {
  size_t batch = scatter.batches.size(), row = scatter.rowExtents.size(),
         index = scatter.indexExtents.size();
  count_ = take();
  parts_ = take();
  for (ValueRange *range :
       {&batches_, &toBatch_, &initBatch_, &indexBatch_, &updateBatch_}) {
    *range = take(batch);
  }
  for (ValueRange *range : {&rowExtents_, &toRow_, &initRow_, &updateRow_}) {
    *range = take(row);
  }
  indexCount_ = take();
  for (ValueRange *range : {&indexExtents_, &indexStrides_, &updateStrides_}) {
    *range = take(index);
  }
  rows_ = take();
  firstRow_ = take();
  places_.rows = take();
  toStride_ = take();
  initStride_ = take();
  places_.count = take();
  places_.extents = take(batch + index);
  places_.strides = take(batch + index);
}

ScatterEmitter::Column ScatterEmitter::columnOf(Value batch, Value column) {
  Value own[] = {number(0), number(0), number(0), number(0)};
  addStrides(batch, batches_, {toBatch_, initBatch_, updateBatch_, indexBatch_},
             own);
  addStrides(column, rowExtents_, {toRow_, initRow_, updateRow_},
             MutableArrayRef(own).take_front(3));
  return {own[0], own[1], own[2], own[3]};
}

void ScatterEmitter::copyRows(const Column &column, Value part) {
  Type element = storedElement(b_, scatter_.type);
  loop(part, rows_, parts_, [&](Value row) {
    Value value = load(init_, element, add(column.init, mul(row, initStride_)));
    store(value, to_, add(column.to, mul(row, toStride_)));
  });
}

void ScatterEmitter::write(Value to, Value from) {
  if (scatter_.kind == Kind::Set) {
    Type element = storedElement(b_, scatter_.type);
    return store(load(more_, element, from), to_, to);
  }
  constexpr Function functions[] = {Function::Add, Function::Mul, Function::Max,
                                    Function::Min};
  Value value = call(functions[size_t(scatter_.kind) - 1], scatter_.type,
                     {loadElement(to_, scatter_.type, to),
                      loadElement(more_, scatter_.type, from)});
  storeElement(value, scatter_.type, to_, to);
}

/// What indices say of this thread's rows, in their order.
void ScatterEmitter::writeRows(const Column &column, Value part) {
  loop(number(0), indexCount_, number(1), [&](Value next) {
    Value own[] = {column.indices, column.updates};
    addStrides(next, indexExtents_, {indexStrides_, updateStrides_}, own);
    Value index = loadIndex(places_.pointer, places_.type, own[0]);
    Value fromBegin =
        select(isLess(index, number(0)), add(index, places_.rows), index);
    Value row = sub(fromBegin, firstRow_);
    Value isOurs = both(isInside(row, rows_),
                        isEqual(make<arith::RemUIOp>(row, parts_), part));
    when(isOurs, [&] { write(add(column.to, mul(row, toStride_)), own[1]); });
  });
}

void ScatterEmitter::emit() {
  Value columns = number(1);
  for (Value extent : rowExtents_) {
    columns = mul(columns, extent);
  }
  Value isCopied = isElsewhere();
  forOwn(count_, [&](Value index) {
    Value rest = make<arith::DivUIOp>(index, columns);
    Value part = make<arith::RemUIOp>(rest, parts_);
    Column column = columnOf(make<arith::DivUIOp>(rest, parts_),
                             make<arith::RemUIOp>(index, columns));
    when(isCopied, [&] { copyRows(column, part); });
    writeRows(column, part);
  });
}

void divisi::emitKernel(ModuleOp module, const GridScatter &scatter) {
  emitIndexedKernel<ScatterEmitter>(module, scatter);
}

namespace {

/// The same.
class InsertEmitter : public WriteEmitter {
public:
  InsertEmitter(ImplicitLocOpBuilder &builder, const GridInsert &insert,
                ValueRange arguments)
      : WriteEmitter(builder, arguments, insert.indexType), insert_(insert),
        element_(builder.getIntegerType(unsigned(insert.width) * 8)) {}
  void emit();

private:
  const GridInsert &insert_;
  Type element_;
};

} // namespace

/// A bad offset inserts nothing.
void InsertEmitter::emit() {
  size_t rank = insert_.extents.size();
  Value count = take();
  ValueRange extents = take(rank), strides = take(rank), slice = take(rank);
  Value firstRow = take(), sliceRows = take();
  places_.rows = take();
  places_.count = take();
  Value offset = loadIndex(places_.pointer, places_.type, number(0));
  Value isGood =
      isInside(add(offset, places_.rows), add(places_.rows, places_.rows));
  Value begin =
      select(isLess(offset, number(0)), add(offset, places_.rows), offset);
  Value shift = sub(firstRow, begin);
  Value isCopied = isElsewhere();
  forOwn(count, [&](Value index) {
    Values indices = indicesOf(index, extents);
    Value row = add(indices[insert_.axis], shift);
    Value isOurs = both(isGood, isInside(row, sliceRows));
    indices[insert_.axis] = select(isOurs, row, indices[insert_.axis]);
    Value from = number(0), fromSlice = number(0);
    for (size_t d = 0; d < rank; ++d) {
      from = add(from, mul(indices[d], strides[d]));
      fromSlice = add(fromSlice, mul(indices[d], slice[d]));
    }
    when(make<arith::OrIOp>(isOurs, isCopied), [&] {
      Value pointer = select(isOurs, more_, init_);
      store(load(pointer, element_, select(isOurs, fromSlice, from)), to_,
            index);
    });
  });
}

void divisi::emitKernel(ModuleOp module, const GridInsert &insert) {
  emitIndexedKernel<InsertEmitter>(module, insert);
}
