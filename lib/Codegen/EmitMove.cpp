//===- EmitMove.cpp - Moving elements in blocks of threads ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitMove.h"
#include "lib/Codegen/ThreadBuilder.h"

using namespace mlir;
using namespace divisi;

using rt::GridMove;

namespace {

/// Emits what one thread does.
class MoveEmitter : ThreadBuilder {
public:
  MoveEmitter(ImplicitLocOpBuilder &builder, const GridMove &move,
              ValueRange arguments)
      : ThreadBuilder(builder), move_(move),
        element_(builder.getIntegerType(unsigned(move.width) * 8)),
        to_(arguments[0]), from_(arguments[1]), count_(arguments[2]),
        extents_(arguments.slice(3, move.loops)),
        toStrides_(arguments.slice(3 + move.loops, move.loops)),
        fromStrides_(arguments.slice(3 + 2 * move.loops, move.loops)) {}

  void emitElements();
  /// With what the block shares.
  void emitSquares(Value shared);

private:
  /// Where something is, in elements.
  struct Place {
    Value to, from;
  };

  /// Of the shared square, a row of which has a column more: threads that read
  /// down a column find each in another bank of the memory.
  Value inSquare(Value row, Value column) {
    return add(mul(row, number(GridMove::square + 1)), column);
  }
  Place placeOf(Value index, size_t loops);
  void move(Value to, Value toIndex, Value from, Value fromIndex);
  Place along(Place place, size_t loop, Value index);
  void forRows(Value row, Value column, size_t rowLoop, size_t columnLoop,
               Place matrix,
               llvm::function_ref<void(Place place, Value rowOfSquare)> body);

  const GridMove &move_;
  Type element_;
  Value to_, from_, count_;
  ValueRange extents_, toStrides_, fromStrides_;
  Value x_, y_; ///< Of the thread in a square.
};

} // namespace

MoveEmitter::Place MoveEmitter::along(Place place, size_t loop, Value index) {
  return {add(place.to, mul(index, toStrides_[loop])),
          add(place.from, mul(index, fromStrides_[loop]))};
}

/// Of the iteration `index` of the first loops, the innermost counting fastest.
MoveEmitter::Place MoveEmitter::placeOf(Value index, size_t loops) {
  Value sums[] = {number(0), number(0)};
  addStrides(index, extents_.take_front(loops),
             {toStrides_.take_front(loops), fromStrides_.take_front(loops)},
             sums);
  return {sums[0], sums[1]};
}

void MoveEmitter::move(Value to, Value toIndex, Value from, Value fromIndex) {
  store(load(from, element_, fromIndex), to, toIndex);
}

void MoveEmitter::emitElements() {
  Value threads = position<gpu::BlockDimOp>(Dimension::x);
  Value begin = add(mul(position<gpu::BlockIdOp>(Dimension::x), threads),
                    position<gpu::ThreadIdOp>(Dimension::x));
  Value step = mul(position<gpu::GridDimOp>(Dimension::x), threads);
  loop(begin, count_, step, [&](Value index) {
    Place place = placeOf(index, move_.loops);
    move(to_, place.to, from_, place.from);
  });
}

/// Does `body` for each row of a square that this thread has an element of,
/// which begins at `row` and `column` of the two loops.
void MoveEmitter::forRows(
    Value row, Value column, size_t rowLoop, size_t columnLoop, Place matrix,
    llvm::function_ref<void(Place place, Value rowOfSquare)> body) {
  Value ownColumn = add(column, x_);
  for (int64_t first = 0; first < GridMove::square;
       first += GridMove::rowsAtOnce) {
    Value rowOfSquare = add(y_, number(first));
    Value ownRow = add(row, rowOfSquare);
    Value isThere =
        make<arith::AndIOp>(isLess(ownRow, extents_[rowLoop]),
                            isLess(ownColumn, extents_[columnLoop]));
    when(isThere, [&] {
      body(along(along(matrix, rowLoop, ownRow), columnLoop, ownColumn),
           rowOfSquare);
    });
  }
}

void MoveEmitter::emitSquares(Value shared) {
  size_t fromLoop = move_.loops - 2, toLoop = move_.loops - 1;
  Value size = number(GridMove::square);
  x_ = position<gpu::ThreadIdOp>(Dimension::x);
  y_ = position<gpu::ThreadIdOp>(Dimension::y);
  Value across = make<arith::CeilDivUIOp>(extents_[toLoop], size);
  Value ofMatrix =
      mul(make<arith::CeilDivUIOp>(extents_[fromLoop], size), across);
  Value begin = position<gpu::BlockIdOp>(Dimension::x);
  Value step = position<gpu::GridDimOp>(Dimension::x);
  loop(begin, mul(count_, ofMatrix), step, [&](Value square) {
    Place matrix =
        placeOf(make<arith::DivUIOp>(square, ofMatrix), move_.loops - 2);
    Value inMatrix = make<arith::RemUIOp>(square, ofMatrix);
    Value from = mul(make<arith::DivUIOp>(inMatrix, across), size);
    Value to = mul(make<arith::RemUIOp>(inMatrix, across), size);
    forRows(to, from, toLoop, fromLoop, matrix, [&](Place place, Value row) {
      move(shared, inSquare(row, x_), from_, place.from);
    });
    barrier();
    forRows(from, to, fromLoop, toLoop, matrix, [&](Place place, Value row) {
      move(to_, place.to, shared, inSquare(x_, row));
    });
    barrier(); // before anybody writes the next one
  });
}

void divisi::emitKernel(ModuleOp module, const GridMove &move) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getContext());
  auto kernel = beginKernel(b, module, 2, move.numberCount());
  MoveEmitter emitter(b, move, kernel.getArguments());
  if (move.hasSquares) {
    emitter.emitSquares(shareMemory(b, module,
                                    b.getIntegerType(unsigned(move.width) * 8),
                                    GridMove::square * (GridMove::square + 1)));
  } else {
    emitter.emitElements();
  }
}
