//===- EmitProduct.cpp - Products in blocks of threads --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ElementBuilder.h"
#include "lib/Codegen/EmitElements.h"
#include "lib/Codegen/StoredElements.h"

using namespace mlir;
using namespace divisi;

using rt::GridProduct;

namespace {

/// Emits what one thread does: of a square of the result it has a column, and
/// every eighth row.
///
///   for squares of all matrices:
///     for 32 of what is summed:
///       shared[0][row][k] = a, shared[1][k][column] = b; barrier
///       sum[row] += shared[0][row][k] * shared[1][k][column]; barrier
///     result[row][column] = sum[row]
class ProductEmitter : ElementBuilder {
public:
  ProductEmitter(ImplicitLocOpBuilder &builder, const GridProduct &product,
                 ValueRange arguments, Value shared);
  void emit();

  /// Two squares, with an element more in each row: threads that read down a
  /// column find each in another bank of the memory.
  static constexpr int64_t ofSquare =
      GridProduct::square * (GridProduct::square + 1);

private:
  static constexpr int64_t square = GridProduct::square;
  static constexpr int64_t ownRows = square / GridProduct::rowsAtOnce;

  /// A group of loops, with the strides of both operands and the result; none
  /// of a tensor that it does not move.
  struct Loops {
    ValueRange extents, strides[3];
  };
  /// How far an index of such a group is in each of them.
  using Places = std::array<Value, 3>;

  Places placesOf(const Loops &loops, Value index);
  Value inSquare(size_t operand, Value row, Value column) {
    return add(add(mul(row, number(square + 1)), column),
               number(int64_t(operand) * ofSquare));
  }
  Value loadWhen(Value isThere, size_t operand, Value place);
  Value ownRow(int64_t r) {
    return add(row_, number(r * GridProduct::rowsAtOnce));
  }
  void shareSums(Value first, ArrayRef<Places> rows, const Places &column);
  Values addSums(Value first, ValueRange sums);
  void emitSquare(Value square);

  const GridProduct &product_;
  Value pointers_[2], to_, zeros_[2], shared_;
  ValueRange numbers_;
  Loops batch_, m_, n_, k_;
  Value lane_, row_;
  // Of the square that the block has at present.
  Places base_;
  Value hasColumn_, hasRow_[ownRows];
};

} // namespace

ProductEmitter::ProductEmitter(ImplicitLocOpBuilder &builder,
                               const GridProduct &product, ValueRange arguments,
                               Value shared)
    : ElementBuilder(builder, arguments), product_(product), shared_(shared) {
  to_ = take();
  pointers_[0] = take();
  pointers_[1] = take();
  Value zero = product.hasZero ? take() : Value();
  numbers_ = take(GridProduct::numNumbers);
  Type computed = storedElement(b_, computedAs(product.to));
  for (size_t operand = 0; product.hasCodes && operand < 2; ++operand) {
    zeros_[operand] = make<arith::TruncIOp>(computed, take());
  }
  if (zero) {
    zeros_[0] = loadAs(zero, product.types[0], product.to, number(0));
  }
  Loops *all[] = {&batch_, &m_, &n_, &k_};
  for (auto [own, loops] : llvm::zip_equal(product.loops(), all)) {
    size_t count = own.group->extents.size();
    loops->extents = take(count);
    for (size_t t = 0; t < 3; ++t) {
      loops->strides[t] = take(own.isIn[t] ? count : 0);
    }
  }
  lane_ = position<gpu::ThreadIdOp>(Dimension::x);
  row_ = position<gpu::ThreadIdOp>(Dimension::y);
}

ProductEmitter::Places ProductEmitter::placesOf(const Loops &loops,
                                                Value index) {
  Places places;
  Values indices = indicesOf(index, loops.extents);
  for (size_t t = 0; t < 3; ++t) {
    places[t] = number(0);
    for (size_t d = 0; d < loops.strides[t].size(); ++d) {
      places[t] = add(places[t], mul(indices[d], loops.strides[t][d]));
    }
  }
  return places;
}

/// An element of an operand less its zero point, or 0.
Value ProductEmitter::loadWhen(Value isThere, size_t operand, Value place) {
  return valueWhen(isThere, zero(product_.to), [&] {
    return loadAs(pointers_[operand], product_.types[operand], product_.to,
                  place, zeros_[operand]);
  });
}

/// Lets the block share what comes by of its rows and columns.
void ProductEmitter::shareSums(Value first, ArrayRef<Places> rows,
                               const Places &column) {
  Value sums = numbers_[GridProduct::Sums];
  Value ofRow = add(first, lane_);
  Places along = placesOf(k_, ofRow);
  for (int64_t r = 0; r < ownRows; ++r) {
    Value place = add(base_[0], add(rows[size_t(r)][0], along[0]));
    Value element = loadWhen(both(hasRow_[r], isLess(ofRow, sums)), 0, place);
    store(element, shared_, inSquare(0, ownRow(r), lane_));
  }
  for (int64_t r = 0; r < ownRows; ++r) {
    Value ofColumn = add(first, ownRow(r));
    Places down = placesOf(k_, ofColumn);
    Value place = add(base_[1], add(column[1], down[1]));
    Value element =
        loadWhen(both(hasColumn_, isLess(ofColumn, sums)), 1, place);
    store(element, shared_, inSquare(1, ownRow(r), lane_));
  }
}

/// Of the rows of this thread, with what is shared.
ThreadBuilder::Values ProductEmitter::addSums(Value first, ValueRange sums) {
  Type type = zero(product_.to).getType();
  Value left = make<arith::MinSIOp>(number(square),
                                    sub(numbers_[GridProduct::Sums], first));
  return loop(number(0), left, number(1), sums,
              [&](Value k, ValueRange last) -> Values {
                Value b = load(shared_, type, inSquare(1, k, lane_));
                Values next;
                for (int64_t r = 0; r < ownRows; ++r) {
                  Value a = load(shared_, type, inSquare(0, ownRow(r), k));
                  Value product = call(Function::Mul, product_.to, {a, b});
                  next.push_back(call(Function::Add, product_.to,
                                      {last[size_t(r)], product}));
                }
                return next;
              });
}

void ProductEmitter::emitSquare(Value own) {
  Value across = numbers_[GridProduct::Across],
        down = numbers_[GridProduct::Down];
  Value rest = make<arith::DivUIOp>(own, across);
  Value column =
      add(mul(make<arith::RemUIOp>(own, across), number(square)), lane_);
  Value firstRow = mul(make<arith::RemUIOp>(rest, down), number(square));
  base_ = placesOf(batch_, make<arith::DivUIOp>(rest, down));
  hasColumn_ = isLess(column, numbers_[GridProduct::Columns]);
  Places ofColumn = placesOf(n_, column);
  SmallVector<Places> ofRows;
  for (int64_t r = 0; r < ownRows; ++r) {
    Value row = add(firstRow, ownRow(r));
    hasRow_[r] = isLess(row, numbers_[GridProduct::Rows]);
    ofRows.push_back(placesOf(m_, row));
  }
  Values sums = loop(number(0), numbers_[GridProduct::Sums], number(square),
                     Values(size_t(ownRows), zero(product_.to)),
                     [&](Value first, ValueRange last) {
                       shareSums(first, ofRows, ofColumn);
                       barrier();
                       Values next = addSums(first, last);
                       barrier(); // before anybody shares the next ones
                       return next;
                     });
  for (int64_t r = 0; r < ownRows; ++r) {
    when(both(hasRow_[r], hasColumn_), [&] {
      Value place = add(base_[2], add(ofRows[size_t(r)][2], ofColumn[2]));
      storeElement(sums[size_t(r)], product_.to, to_, place);
    });
  }
}

void ProductEmitter::emit() {
  loop(position<gpu::BlockIdOp>(Dimension::x), numbers_[GridProduct::Squares],
       position<gpu::GridDimOp>(Dimension::x),
       [&](Value own) { emitSquare(own); });
}

void divisi::emitKernel(ModuleOp module, const GridProduct &product) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel =
      beginKernel(b, module, product.pointerCount(), product.numberCount());
  Value shared =
      shareMemory(b, module, storedElement(b, computedAs(product.to)),
                  2 * ProductEmitter::ofSquare);
  ProductEmitter(b, product, kernel.getArguments(), shared).emit();
}
