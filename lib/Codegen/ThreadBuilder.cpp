//===- ThreadBuilder.cpp - Emitting what one thread does ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/ThreadBuilder.h"
#include "divisi/runtime/code/GridCode.h"

using namespace mlir;
using namespace divisi;

Value ThreadBuilder::number(int64_t value) {
  return arith::ConstantIntOp::create(b_, value, 64);
}

Value ThreadBuilder::add(Value x, Value y) { return make<arith::AddIOp>(x, y); }
Value ThreadBuilder::mul(Value x, Value y) { return make<arith::MulIOp>(x, y); }

Value ThreadBuilder::isLess(Value x, Value y) {
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, x, y);
}

Value ThreadBuilder::isEqual(Value x, Value y) {
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, x, y);
}

Value ThreadBuilder::at(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(b_, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value ThreadBuilder::load(Value pointer, Type element, Value index) {
  return LLVM::LoadOp::create(b_, element, at(pointer, element, index));
}

void ThreadBuilder::store(Value value, Value pointer, Value index) {
  LLVM::StoreOp::create(b_, value, at(pointer, value.getType(), index));
}

ThreadBuilder::Values
ThreadBuilder::loop(Value begin, Value end, Value step, ValueRange carried,
                    llvm::function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b_, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(op.getBody());
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!next.empty()) {
    scf::YieldOp::create(b_, next);
  }
  return Values(op.getResults());
}

void ThreadBuilder::loop(Value begin, Value end, Value step,
                         llvm::function_ref<void(Value)> body) {
  loop(begin, end, step, ValueRange(), [&](Value index, ValueRange) {
    body(index);
    return Values();
  });
}

void ThreadBuilder::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b_, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value ThreadBuilder::valueWhen(Value condition, Value otherwise,
                               llvm::function_ref<Value()> body) {
  auto branch = scf::IfOp::create(b_, TypeRange{otherwise.getType()}, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b_, otherwise);
  b_.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b_, body());
  return branch.getResult(0);
}

void ThreadBuilder::addStrides(Value index, ValueRange extents,
                               ArrayRef<ValueRange> strides,
                               MutableArrayRef<Value> sums) {
  for (size_t l = extents.size(); l-- > 0;) {
    Value own = index;
    if (l > 0) {
      own = make<arith::RemUIOp>(index, extents[l]);
      index = make<arith::DivUIOp>(index, extents[l]);
    }
    for (size_t s = 0; s < sums.size(); ++s) {
      sums[s] = add(sums[s], mul(own, strides[s][l]));
    }
  }
}

LLVM::LLVMFuncOp divisi::beginKernel(ImplicitLocOpBuilder &builder,
                                     ModuleOp module, size_t pointers,
                                     size_t numbers) {
  MLIRContext *context = module.getContext();
  SmallVector<Type> types(pointers, LLVM::LLVMPointerType::get(context));
  types.append(numbers, builder.getI64Type());
  builder.setInsertionPointToEnd(module.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      builder, rt::gridFunctionName,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  LLVM::ReturnOp::create(builder, ValueRange());
  builder.setInsertionPointToStart(&function.getBody().front());
  return function;
}

Value divisi::shareMemory(ImplicitLocOpBuilder &builder, ModuleOp module,
                          Type element, int64_t count) {
  LLVM::GlobalOp shared;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    shared = LLVM::GlobalOp::create(
        builder, LLVM::LLVMArrayType::get(element, unsigned(count)),
        /*isConstant=*/false, LLVM::Linkage::Internal, "shared", Attribute(),
        /*alignment=*/16, /*addrSpace=*/3);
  }
  return LLVM::AddressOfOp::create(builder, shared);
}

Value divisi::constantMemory(ImplicitLocOpBuilder &builder, ModuleOp module,
                             StringRef name, DenseElementsAttr values) {
  LLVM::GlobalOp constant;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(values.getElementType(),
                                         unsigned(values.size()));
    constant = LLVM::GlobalOp::create(builder, type, /*isConstant=*/true,
                                      LLVM::Linkage::Internal, name, values,
                                      /*alignment=*/16, /*addrSpace=*/1);
  }
  return LLVM::AddressOfOp::create(builder, constant);
}
