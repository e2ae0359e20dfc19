//===- RowMemory.cpp - Loads and stores of rows ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RowMemory.h"
#include "divisi/runtime/code/RowCode.h"
#include "lib/Codegen/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cstddef>

using namespace mlir;
using namespace divisi;

Value divisi::beginFunction(ImplicitLocOpBuilder &builder, StringRef name) {
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer});
  auto function = LLVM::LLVMFuncOp::create(builder, name, type);
  Block *body = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  return body->getArgument(0);
}

void divisi::endFunction(ImplicitLocOpBuilder &builder) {
  LLVM::ReturnOp::create(builder, ValueRange());
}

RowMemory::RowMemory(ImplicitLocOpBuilder &builder, const rt::RowNest &nest,
                     int64_t lanes, Value arguments)
    : NestMemory(builder, nest), lanes_(lanes), arguments_(arguments) {
  Type i64 = b_.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext());
  using Arguments = rt::RowArguments;
  rowBegin_ = field(offsetof(Arguments, rowBegin), i64);
  rowEnd_ = field(offsetof(Arguments, rowEnd), i64);
  columnBegin_ = field(offsetof(Arguments, columnBegin), i64);
  columnEnd_ = field(offsetof(Arguments, columnEnd), i64);
  scratch_ = field(offsetof(Arguments, scratch), pointer);
  scratchColumns_ = field(offsetof(Arguments, scratchColumns), i64);
  Value tensors = field(offsetof(Arguments, tensors), pointer);
  Value numbers = field(offsetof(Arguments, numbers), pointer);
  auto entry = [&](Value table, Type type, size_t index) -> Value {
    Value place = LLVM::GEPOp::create(b_, pointer, type, table,
                                      ArrayRef<LLVM::GEPArg>{int32_t(index)});
    return LLVM::LoadOp::create(b_, type, place);
  };
  size_t next = 0;
  SmallVector<Value> bases;
  for (size_t t = 0; t < nest.tensors.size(); ++t) {
    bases.push_back(entry(tensors, pointer, t));
  }
  setPlaces([&] { return entry(numbers, i64, next++); }, bases);
  Value columns =
      arith::SIToFPOp::create(b_, b_.getF32Type(), extents().back());
  columns_ = vector::BroadcastOp::create(
      b_, VectorType::get(lanes_, b_.getF32Type()), columns);
}

Value RowMemory::field(size_t offset, Type type) {
  Value place =
      LLVM::GEPOp::create(b_, arguments_.getType(), b_.getI8Type(), arguments_,
                          ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  return LLVM::LoadOp::create(b_, type, place);
}

Value RowMemory::maskFrom(Value column) {
  Value left = arith::SubIOp::create(b_, columnEnd_, column);
  Value count = arith::IndexCastOp::create(b_, b_.getIndexType(), left);
  return vector::CreateMaskOp::create(
      b_, VectorType::get(lanes_, b_.getI1Type()), count);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static unsigned alignmentOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

Value RowMemory::loadVector(Value pointer, Type element, Value mask) {
  auto type = VectorType::get(lanes_, element);
  unsigned alignment = alignmentOf(element);
  if (!mask) {
    return LLVM::LoadOp::create(b_, type, pointer, alignment);
  }
  Value zeros = arith::ConstantOp::create(b_, b_.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(b_, type, pointer, mask, zeros,
                                    b_.getI32IntegerAttr(alignment),
                                    UnitAttr());
}

void RowMemory::storeVector(Value value, Value pointer, Value mask) {
  unsigned alignment =
      alignmentOf(cast<VectorType>(value.getType()).getElementType());
  if (mask) {
    LLVM::MaskedStoreOp::create(b_, value, pointer, mask,
                                b_.getI32IntegerAttr(alignment));
  } else {
    LLVM::StoreOp::create(b_, value, pointer, alignment);
  }
}

Value RowMemory::loadStill(int tensor) {
  Type type = storedElement(b_, nest_.tensors[tensor].type);
  Value stored = LLVM::LoadOp::create(b_, type, row(tensor));
  Value value = fromStored(b_, stored, nest_.tensors[tensor].type);
  return vector::BroadcastOp::create(
      b_, VectorType::get(lanes_, value.getType()), value);
}

Value RowMemory::load(int tensor, Value column, Value mask) {
  Type element = storedElement(b_, nest_.tensors[tensor].type);
  return fromStored(b_,
                    loadVector(at(row(tensor), element, column), element, mask),
                    nest_.tensors[tensor].type);
}

void RowMemory::storeResults(ValueRange values, Value column, Value mask) {
  size_t first = nest_.tensors.size() - values.size();
  for (auto [r, value] : llvm::enumerate(values)) {
    rt::DType type = nest_.tensors[first + r].type;
    storeVector(toStored(b_, value, type),
                at(row(first + r), storedElement(b_, type), column), mask);
  }
}

Value RowMemory::keptAt(int row, Value column) {
  Value number = arith::ConstantIntOp::create(b_, row, 64);
  Value begin = arith::MulIOp::create(b_, number, scratchColumns_);
  return at(scratch_, b_.getF32Type(),
            arith::AddIOp::create(b_, begin, column));
}

Value RowMemory::loadKept(int row, Value column) {
  return loadVector(keptAt(row, column), b_.getF32Type(), Value());
}

void RowMemory::storeKept(int row, Value value, Value column) {
  storeVector(value, keptAt(row, column), Value());
}
