//===- EmitGrid.cpp - From row programs to blocks of threads --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/EmitGrid.h"
#include "lib/Codegen/GridMemory.h"
#include "runtime/kernels/GridCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace divisi;

using Node = RowProgram::Node;

namespace {

/// Emits what one thread does.
class GridEmitter {
public:
  GridEmitter(ImplicitLocOpBuilder &builder, const RowProgram &program,
              const rt::RowNest &nest, ValueRange arguments, Value partials);
  void emit();

private:
  void emitPass(int pass, Value end);
  Value reduce(const Node &reduction, Value own);
  Value reduceWarps(const Node &reduction, Value ofWarp);
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b_, value, 64);
  }
  /// Of the thread, or of the grid.
  template <typename Op> Value position(gpu::Dimension dimension) {
    return arith::IndexCastOp::create(b_, b_.getI64Type(),
                                      Op::create(b_, dimension));
  }
  Value partial(Value warp) {
    return LLVM::GEPOp::create(b_, partials_.getType(), b_.getF32Type(),
                               partials_, ArrayRef<LLVM::GEPArg>{warp});
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b_, x, y);
  }
  Value isLess(Value x, Value y) {
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, x, y);
  }

  ImplicitLocOpBuilder &b_;
  const RowProgram &program_;
  GridMemory memory_;
  RowValues values_;
  Value partials_; ///< A float of each warp, which the block shares.
  Value lane_, lanes_;
};

} // namespace

GridEmitter::GridEmitter(ImplicitLocOpBuilder &builder,
                         const RowProgram &program, const rt::RowNest &nest,
                         ValueRange arguments, Value partials)
    : b_(builder), program_(program), memory_(builder, nest, arguments),
      values_(builder, program, memory_, builder.getF32Type()),
      partials_(partials) {
  lane_ = position<gpu::ThreadIdOp>(gpu::Dimension::x);
  lanes_ = position<gpu::BlockDimOp>(gpu::Dimension::x);
}

/// What the threads of a row have, by each of them: first of 32 at a time, of
/// which each has what all others have after the last exchange.
Value GridEmitter::reduce(const Node &reduction, Value own) {
  for (int offset = rt::warpSize / 2; offset > 0; offset /= 2) {
    Value other = gpu::ShuffleOp::create(b_, own, offset, rt::warpSize,
                                         gpu::ShuffleMode::XOR)
                      .getShuffleResult();
    Value both = values_.combine(reduction, own, other, Value());
    own = arith::SelectOp::create(b_, isLess(number(offset), lanes_), both, own);
  }
  return reduceWarps(reduction, own);
}

/// Rows of more than 32 threads are a block's only ones.
Value GridEmitter::reduceWarps(const Node &reduction, Value ofWarp) {
  Value size = number(rt::warpSize);
  auto several =
      scf::IfOp::create(b_, TypeRange{ofWarp.getType()}, isLess(size, lanes_),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(several.elseBlock());
  scf::YieldOp::create(b_, ofWarp);
  b_.setInsertionPointToStart(several.thenBlock());
  Value inWarp = make<arith::RemUIOp>(lane_, size);
  Value isFirst = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, inWarp,
                                        number(0));
  auto first = scf::IfOp::create(b_, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inner(b_);
    b_.setInsertionPointToStart(first.thenBlock());
    LLVM::StoreOp::create(b_, ofWarp,
                          partial(make<arith::DivUIOp>(lane_, size)));
  }
  gpu::BarrierOp::create(b_);
  auto all = scf::ForOp::create(b_, number(0),
                                make<arith::DivUIOp>(lanes_, size), number(1),
                                ValueRange{values_.neutral(reduction)});
  {
    OpBuilder::InsertionGuard inner(b_);
    b_.setInsertionPointToStart(all.getBody());
    Value next = LLVM::LoadOp::create(b_, b_.getF32Type(),
                                      partial(all.getInductionVar()));
    scf::YieldOp::create(b_, values_.combine(reduction,
                                             all.getRegionIterArgs()[0], next,
                                             Value()));
  }
  gpu::BarrierOp::create(b_); // before anybody writes the next ones
  scf::YieldOp::create(b_, all.getResult(0));
  return several.getResult(0);
}

void GridEmitter::emitPass(int pass, Value end) {
  std::vector<int> reductions = program_.reductionsOf(pass);
  SmallVector<Value> begins;
  for (int reduction : reductions) {
    begins.push_back(values_.neutral(program_.nodes[reduction]));
  }
  Value block = position<gpu::BlockIdOp>(gpu::Dimension::y);
  Value blocks = position<gpu::GridDimOp>(gpu::Dimension::y);
  Value begin =
      make<arith::AddIOp>(make<arith::MulIOp>(block, lanes_), lane_);
  auto loop = scf::ForOp::create(b_, begin, end,
                                 make<arith::MulIOp>(blocks, lanes_), begins);
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = values_.emitBlock(
        pass, {loop.getInductionVar(), Value()}, loop.getRegionIterArgs());
    if (!next.empty()) {
      scf::YieldOp::create(b_, next);
    }
  }
  for (auto [r, reduction] : llvm::enumerate(reductions)) {
    values_.setStill(reduction,
                     reduce(program_.nodes[reduction], loop.getResult(r)));
  }
}

void GridEmitter::emit() {
  Value rowsOfBlock = position<gpu::BlockDimOp>(gpu::Dimension::y);
  Value begin = make<arith::MulIOp>(
      position<gpu::BlockIdOp>(gpu::Dimension::x), rowsOfBlock);
  Value step = make<arith::MulIOp>(position<gpu::GridDimOp>(gpu::Dimension::x),
                                   rowsOfBlock);
  Value rowOfThread = position<gpu::ThreadIdOp>(gpu::Dimension::y);
  auto rows = scf::ForOp::create(b_, begin, memory_.rows(), step);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(rows.getBody());
  Value row = make<arith::AddIOp>(rows.getInductionVar(), rowOfThread);
  Value isThere = isLess(row, memory_.rows());
  // Who has none goes through the motions with the first one, and no elements.
  memory_.enterRow(arith::SelectOp::create(b_, isThere, row, number(0)));
  Value end = arith::SelectOp::create(b_, isThere, memory_.numColumns(),
                                      number(0));
  for (int pass = 0; pass < program_.passes; ++pass) {
    values_.emitStill(pass);
    emitPass(pass, end);
  }
}

/// A float of each warp of a block.
static LLVM::GlobalOp makePartials(ModuleOp module) {
  auto b = ImplicitLocOpBuilder::atBlockBegin(
      UnknownLoc::get(module.getContext()), module.getBody());
  return LLVM::GlobalOp::create(
      b, LLVM::LLVMArrayType::get(b.getF32Type(), rt::mostWarps),
      /*isConstant=*/false, LLVM::Linkage::Internal, "partials", Attribute(),
      /*alignment=*/16, /*addrSpace=*/3);
}

void divisi::emitGrid(ModuleOp module, const RowProgram &program,
                      const rt::RowNest &nest) {
  ImplicitLocOpBuilder b(UnknownLoc::get(module.getContext()),
                         module.getBodyRegion());
  SmallVector<Type> types(nest.tensors.size(),
                          LLVM::LLVMPointerType::get(b.getContext()));
  types.append(rt::numberCount(nest), b.getI64Type());
  auto function = LLVM::LLVMFuncOp::create(
      b, rt::gridFunctionName,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  types));
  b.setInsertionPointToStart(function.addEntryBlock(b));
  Value partials = LLVM::AddressOfOp::create(b, makePartials(module));
  GridEmitter(b, program, nest, function.getArguments(), partials).emit();
  LLVM::ReturnOp::create(b, ValueRange());
}
