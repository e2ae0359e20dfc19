//===- GridMemory.cpp - Loads and stores of a thread ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/GridMemory.h"
#include "lib/Codegen/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace divisi;

GridMemory::GridMemory(ImplicitLocOpBuilder &builder, const rt::RowNest &nest,
                       ValueRange arguments)
    : NestMemory(builder, nest) {
  ValueRange tensors = arguments.take_front(nest.tensors.size());
  rows_ = arguments[tensors.size()];
  size_t next = tensors.size() + 1;
  setPlaces([&] { return arguments[next++]; }, tensors);
}

Value GridMemory::columns(Type type) {
  return arith::SIToFPOp::create(b_, type, extents().back());
}

Value GridMemory::loadStill(int tensor) {
  Type type = storedElement(b_, nest_.tensors[tensor].type);
  return fromStored(b_, LLVM::LoadOp::create(b_, type, row(tensor)),
                    nest_.tensors[tensor].type);
}

Value GridMemory::load(int tensor, Value column, Value mask) {
  assert(!mask && "threads without an element do not come here");
  Type type = storedElement(b_, nest_.tensors[tensor].type);
  return fromStored(
      b_, LLVM::LoadOp::create(b_, type, at(row(tensor), type, column)),
      nest_.tensors[tensor].type);
}

void GridMemory::storeResults(ValueRange values, Value column, Value mask) {
  assert(!mask && "threads without an element do not come here");
  size_t first = nest_.tensors.size() - values.size();
  for (auto [r, value] : llvm::enumerate(values)) {
    rt::DType type = nest_.tensors[first + r].type;
    LLVM::StoreOp::create(b_, toStored(b_, value, type),
                          at(row(first + r), storedElement(b_, type), column));
  }
}

Value GridMemory::loadKept(int, Value) { llvm_unreachable("nothing is kept"); }

void GridMemory::storeKept(int, Value, Value) {
  llvm_unreachable("nothing is kept");
}
