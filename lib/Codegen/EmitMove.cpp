//===- EmitMove.cpp - Moving elements in blocks of threads ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitMove.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace divisi;

using rt::GridMove;

namespace {

/// Emits what one thread does.
class MoveEmitter {
public:
  MoveEmitter(ImplicitLocOpBuilder &builder, const GridMove &move,
              ValueRange arguments)
      : b_(builder), move_(move),
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

  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b_, value, 64);
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b_, x, y);
  }
  template <typename Op> Value position(gpu::Dimension dimension) {
    return arith::IndexCastOp::create(b_, b_.getI64Type(),
                                      Op::create(b_, dimension));
  }
  Value at(Value pointer, Value index) {
    return LLVM::GEPOp::create(b_, pointer.getType(), element_, pointer,
                               ArrayRef<LLVM::GEPArg>{index});
  }
  Value load(Value pointer, Value index) {
    return LLVM::LoadOp::create(b_, element_, at(pointer, index));
  }
  /// Of the shared square, a row of which has a column more: threads that read
  /// down a column find each in another bank of the memory.
  Value inSquare(Value row, Value column) {
    return make<arith::AddIOp>(
        make<arith::MulIOp>(row, number(GridMove::square + 1)), column);
  }
  Place placeOf(Value index, size_t loops);
  Place along(Place place, size_t loop, Value index);
  void forRows(Value row, Value column, size_t rowLoop, size_t columnLoop,
               Place matrix,
               llvm::function_ref<void(Place place, Value rowOfSquare)> body);

  ImplicitLocOpBuilder &b_;
  const GridMove &move_;
  Type element_;
  Value to_, from_, count_;
  ValueRange extents_, toStrides_, fromStrides_;
  Value x_, y_; ///< Of the thread in a square.
};

} // namespace

MoveEmitter::Place MoveEmitter::along(Place place, size_t loop, Value index) {
  auto add = [&](Value offset, Value stride) {
    return make<arith::AddIOp>(offset, make<arith::MulIOp>(index, stride));
  };
  return {add(place.to, toStrides_[loop]), add(place.from, fromStrides_[loop])};
}

/// Of the iteration `index` of the first loops, the innermost counting fastest.
MoveEmitter::Place MoveEmitter::placeOf(Value index, size_t loops) {
  Place place{number(0), number(0)};
  for (size_t l = loops; l-- > 0;) {
    Value own = index;
    if (l > 0) {
      own = make<arith::RemUIOp>(index, extents_[l]);
      index = make<arith::DivUIOp>(index, extents_[l]);
    }
    place = along(place, l, own);
  }
  return place;
}

void MoveEmitter::emitElements() {
  Value threads = position<gpu::BlockDimOp>(gpu::Dimension::x);
  Value begin = make<arith::AddIOp>(
      make<arith::MulIOp>(position<gpu::BlockIdOp>(gpu::Dimension::x), threads),
      position<gpu::ThreadIdOp>(gpu::Dimension::x));
  Value step = make<arith::MulIOp>(
      position<gpu::GridDimOp>(gpu::Dimension::x), threads);
  auto loop = scf::ForOp::create(b_, begin, count_, step);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  Place place = placeOf(loop.getInductionVar(), move_.loops);
  LLVM::StoreOp::create(b_, load(from_, place.from), at(to_, place.to));
}

/// Does `body` for each row of a square that this thread has an element of,
/// which begins at `row` and `column` of the two loops.
void MoveEmitter::forRows(
    Value row, Value column, size_t rowLoop, size_t columnLoop, Place matrix,
    llvm::function_ref<void(Place place, Value rowOfSquare)> body) {
  Value ownColumn = make<arith::AddIOp>(column, x_);
  for (int64_t first = 0; first < GridMove::square;
       first += GridMove::rowsAtOnce) {
    Value rowOfSquare = make<arith::AddIOp>(y_, number(first));
    Value ownRow = make<arith::AddIOp>(row, rowOfSquare);
    auto isLess = [&](Value index, size_t loop) {
      return arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, index,
                                   extents_[loop]);
    };
    Value isThere = make<arith::AndIOp>(isLess(ownRow, rowLoop),
                                        isLess(ownColumn, columnLoop));
    auto branch = scf::IfOp::create(b_, isThere, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    body(along(along(matrix, rowLoop, ownRow), columnLoop, ownColumn),
         rowOfSquare);
  }
}

void MoveEmitter::emitSquares(Value shared) {
  size_t fromLoop = move_.loops - 2, toLoop = move_.loops - 1;
  Value size = number(GridMove::square);
  auto squares = [&](size_t loop) {
    return arith::CeilDivUIOp::create(b_, extents_[loop], size).getResult();
  };
  x_ = position<gpu::ThreadIdOp>(gpu::Dimension::x);
  y_ = position<gpu::ThreadIdOp>(gpu::Dimension::y);
  Value across = squares(toLoop);
  Value ofMatrix = make<arith::MulIOp>(squares(fromLoop), across);
  auto loop = scf::ForOp::create(
      b_, position<gpu::BlockIdOp>(gpu::Dimension::x),
      make<arith::MulIOp>(count_, ofMatrix),
      position<gpu::GridDimOp>(gpu::Dimension::x));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  Value square = loop.getInductionVar();
  Place matrix =
      placeOf(make<arith::DivUIOp>(square, ofMatrix), move_.loops - 2);
  Value inMatrix = make<arith::RemUIOp>(square, ofMatrix);
  Value from =
      make<arith::MulIOp>(make<arith::DivUIOp>(inMatrix, across), size);
  Value to = make<arith::MulIOp>(make<arith::RemUIOp>(inMatrix, across), size);
  forRows(to, from, toLoop, fromLoop, matrix, [&](Place place, Value row) {
    LLVM::StoreOp::create(b_, load(from_, place.from),
                          at(shared, inSquare(row, x_)));
  });
  gpu::BarrierOp::create(b_);
  forRows(from, to, fromLoop, toLoop, matrix, [&](Place place, Value row) {
    LLVM::StoreOp::create(b_, load(shared, inSquare(x_, row)),
                          at(to_, place.to));
  });
  gpu::BarrierOp::create(b_); // before anybody writes the next one
}

void divisi::emitMove(ModuleOp module, const GridMove &move) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getBodyRegion());
  SmallVector<Type> types(2, LLVM::LLVMPointerType::get(b.getContext()));
  types.append(move.numberCount(), b.getI64Type());
  auto function = LLVM::LLVMFuncOp::create(
      b, rt::gridFunctionName,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  types));
  LLVM::GlobalOp shared;
  if (move.hasSquares) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    shared = LLVM::GlobalOp::create(
        b,
        LLVM::LLVMArrayType::get(b.getIntegerType(unsigned(move.width) * 8),
                                 GridMove::square * (GridMove::square + 1)),
        /*isConstant=*/false, LLVM::Linkage::Internal, "square", Attribute(),
        /*alignment=*/16, /*addrSpace=*/3);
  }
  b.setInsertionPointToStart(function.addEntryBlock(b));
  MoveEmitter emitter(b, move, function.getArguments());
  if (move.hasSquares) {
    emitter.emitSquares(LLVM::AddressOfOp::create(b, shared));
  } else {
    emitter.emitElements();
  }
  LLVM::ReturnOp::create(b, ValueRange());
}
