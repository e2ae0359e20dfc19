//===- EmulateGrid.cpp - Kernels that run thread by thread ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedGrid.h"
#include "divisi/runtime/code/GridCode.h"
#include "lib/Codegen/LowerGrid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cstddef>

using namespace mlir;
using namespace divisi;

namespace {

/// Lets one function ask EmulatedGrid for what it asks of its device.
class GridEmulation {
public:
  explicit GridEmulation(ModuleOp module)
      : module_(module),
        b_(UnknownLoc::get(module.getContext()), module.getContext()),
        pointer_(LLVM::LLVMPointerType::get(module.getContext())) {}
  void run();

private:
  void takeOver(LLVM::LLVMFuncOp kernel);
  void replace(Operation *op);
  Value ask(size_t field, Type result, ValueRange operands);
  void replaceProduct(NVVM::MmaOp product);
  void replacePosition(Operation *op, gpu::Dimension dimension,
                       uint32_t alongX);
  template <typename Access> void check(Access access, Type type, bool writes);
  bool isConstant(Value place);
  Value number(uint32_t value) {
    return arith::ConstantIntOp::create(b_, value, 32);
  }

  ModuleOp module_;
  ImplicitLocOpBuilder b_;
  Type pointer_;
  Value table_, thread_;
  Value words_; ///< Of products, on the thread's stack.
};

} // namespace

/// Calls what stands at `field` of the table.
Value GridEmulation::ask(size_t field, Type result, ValueRange operands) {
  Value place =
      LLVM::GEPOp::create(b_, pointer_, b_.getI8Type(), table_,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(field)});
  SmallVector<Value> all = {LLVM::LoadOp::create(b_, pointer_, place), thread_};
  all.append(operands.begin(), operands.end());
  SmallVector<Type> types(ValueRange(all).drop_front().getTypes());
  auto type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(b_.getContext()), types);
  auto call = LLVM::CallOp::create(b_, type, all);
  return result ? call.getResult() : Value();
}

void GridEmulation::replacePosition(Operation *op, gpu::Dimension dimension,
                                    uint32_t alongX) {
  uint32_t which = alongX + (dimension == gpu::Dimension::x ? 0 : 1);
  Value found =
      ask(offsetof(EmulatedGrid, position), b_.getI64Type(), number(which));
  op->getResult(0).replaceAllUsesWith(
      arith::IndexCastOp::create(b_, b_.getIndexType(), found));
  op->erase();
}

template <typename Access>
void GridEmulation::check(Access access, Type type, bool writes) {
  Value bytes =
      arith::ConstantIntOp::create(b_, type.getIntOrFloatBitWidth() / 8, 64);
  access.getAddrMutable().assign(
      ask(offsetof(EmulatedGrid, access), pointer_,
          {access.getAddr(), bytes, number(writes)}));
}

/// Hands on the words of f16 or bf16, and f32, where the result comes to be.
void GridEmulation::replaceProduct(NVVM::MmaOp product) {
  Type word = b_.getI32Type(), real = b_.getF32Type();
  if (!words_) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(
        &product->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
    words_ = LLVM::AllocaOp::create(b_, pointer_, word, number(10));
  }
  auto at = [&](size_t index) -> Value {
    return LLVM::GEPOp::create(
        b_, pointer_, word, words_,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  };
  for (auto [i, operand] : llvm::enumerate(product.getOperands())) {
    LLVM::StoreOp::create(b_, operand, at(i));
  }
  bool isBFloat = product.getMultiplicandAPtxType() == NVVM::MMATypes::bf16;
  ask(offsetof(EmulatedGrid, multiply), Type(), {words_, number(isBFloat)});
  Value all = LLVM::PoisonOp::create(b_, product.getType());
  for (int64_t i = 0; i < 4; ++i) {
    Value sum = LLVM::LoadOp::create(b_, real, at(size_t(i) + 6));
    all = LLVM::InsertValueOp::create(b_, all, sum, i);
  }
  product.replaceAllUsesWith(all);
  product.erase();
}

/// Whether it lies in what the kernel has of its own, and nobody writes.
bool GridEmulation::isConstant(Value place) {
  while (auto inside = place.getDefiningOp<LLVM::GEPOp>()) {
    place = inside.getBase();
  }
  return place.getDefiningOp<LLVM::AddressOfOp>() != nullptr;
}

void GridEmulation::replace(Operation *op) {
  b_.setInsertionPoint(op);
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op)) {
    replacePosition(op, id.getDimension(), EmulatedGrid::ThreadX);
  } else if (auto size = dyn_cast<gpu::BlockDimOp>(op)) {
    replacePosition(op, size.getDimension(), EmulatedGrid::BlockSizeX);
  } else if (auto block = dyn_cast<gpu::BlockIdOp>(op)) {
    replacePosition(op, block.getDimension(), EmulatedGrid::BlockX);
  } else if (auto blocks = dyn_cast<gpu::GridDimOp>(op)) {
    replacePosition(op, blocks.getDimension(), EmulatedGrid::GridSizeX);
  } else if (isa<gpu::BarrierOp>(op)) {
    ask(offsetof(EmulatedGrid, barrier), Type(), {});
    op->erase();
  } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    Value bits =
        arith::BitcastOp::create(b_, b_.getI32Type(), shuffle.getValue());
    Value other = ask(offsetof(EmulatedGrid, shuffle), b_.getI32Type(),
                      {bits, shuffle.getOffset()});
    shuffle.getShuffleResult().replaceAllUsesWith(
        arith::BitcastOp::create(b_, shuffle.getValue().getType(), other));
    op->erase();
  } else if (auto product = dyn_cast<NVVM::MmaOp>(op)) {
    replaceProduct(product);
  } else if (auto global = dyn_cast<LLVM::AddressOfOp>(op)) {
    if (module_.lookupSymbol<LLVM::GlobalOp>(global.getGlobalName())
            .getConstant()) {
      global->getResult(0).setType(pointer_);
      return;
    }
    op->getResult(0).replaceAllUsesWith(
        ask(offsetof(EmulatedGrid, shared), pointer_, {}));
    op->erase();
  } else if (auto place = dyn_cast<LLVM::GEPOp>(op)) {
    place.getResult().setType(pointer_); // also of what is shared
  } else if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    if (!isConstant(load.getAddr())) {
      check(load, load.getType(), false);
    }
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    check(store, store.getValue().getType(), true);
  }
}

/// Moves the body of the kernel to a function with the table's parameters.
void GridEmulation::takeOver(LLVM::LLVMFuncOp kernel) {
  b_.setInsertionPointToEnd(module_.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      b_, emulatedFunctionName,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b_.getContext()),
                                  {pointer_, pointer_, pointer_}));
  Block *entry = function.addEntryBlock(b_);
  Block &body = kernel.getBody().front();
  entry->getOperations().splice(entry->end(), body.getOperations());
  table_ = entry->getArgument(0);
  thread_ = entry->getArgument(1);
  b_.setInsertionPointToStart(entry);
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Value place =
        LLVM::GEPOp::create(b_, pointer_, pointer_, entry->getArgument(2),
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value value = LLVM::LoadOp::create(b_, pointer_, place);
    argument.replaceAllUsesWith(
        LLVM::LoadOp::create(b_, argument.getType(), value));
  }
  kernel.erase();
}

void GridEmulation::run() {
  auto kernel = module_.lookupSymbol<LLVM::LLVMFuncOp>(rt::gridFunctionName);
  SmallVector<Operation *> all;
  kernel.walk([&](Operation *op) { all.push_back(op); });
  takeOver(kernel);
  for (Operation *op : all) {
    if (op != kernel) {
      replace(op);
    }
  }
  for (auto global :
       llvm::make_early_inc_range(module_.getOps<LLVM::GlobalOp>())) {
    if (global.getConstant()) {
      global.setAddrSpace(0);
    } else {
      global.erase();
    }
  }
}

void divisi::emulateGrid(ModuleOp module) { GridEmulation(module).run(); }
