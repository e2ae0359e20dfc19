//===- NestMemory.cpp - Where the rows of a nest lie ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/NestMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace divisi;

void NestMemory::setPlaces(llvm::function_ref<Value()> nextNumber,
                           ValueRange tensors) {
  size_t groups = nest_.extents.size();
  for (size_t g = 0; g < groups; ++g) {
    extents_.push_back(nextNumber());
  }
  for (const rt::RowNest::Tensor &tensor : nest_.tensors) {
    std::vector<Value> &strides = strides_.emplace_back();
    for (size_t g = 0; g < groups; ++g) {
      Value stride = nextNumber();
      strides.push_back(tensor.strides[g] != 0 ? stride : Value());
    }
  }
  bases_.assign(tensors.begin(), tensors.end());
  rows_ = bases_;
}

Value NestMemory::at(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(b_, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{index});
}

/// The index of the row along each group but the last, from the innermost on.
void NestMemory::enterRow(Value row) {
  std::vector<Value> indices(nest_.extents.size() - 1);
  for (size_t g = indices.size(); g-- > 0;) {
    indices[g] = g == 0 ? row : arith::RemUIOp::create(b_, row, extents_[g]);
    if (g > 0) {
      row = arith::DivUIOp::create(b_, row, extents_[g]);
    }
  }
  for (size_t t = 0; t < rows_.size(); ++t) {
    rows_[t] = bases_[t];
    for (size_t g = 0; g < indices.size(); ++g) {
      if (Value stride = strides_[t][g]) {
        Value offset = arith::MulIOp::create(b_, indices[g], stride);
        rows_[t] = at(rows_[t], storedType(nest_.tensors[t].type), offset);
      }
    }
  }
}

Type NestMemory::storedType(rt::DType type) {
  switch (type) {
  case rt::DType::F16:
    return b_.getF16Type();
  case rt::DType::BF16: // which LLVM has no masked loads of
    return b_.getI16Type();
  case rt::DType::Bool:
  case rt::DType::I8:
  case rt::DType::U8:
    return b_.getI8Type();
  default:
    return b_.getF32Type();
  }
}

/// The type of `like` with other elements.
static Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? VectorType::get(vector.getShape(), element) : element;
}

Value NestMemory::toValue(Value stored, rt::DType type) {
  Type element = getElementTypeOrSelf(stored.getType());
  Type number = withElement(stored.getType(), b_.getF32Type());
  if (element.isF32()) {
    return stored;
  }
  if (type == rt::DType::I8) {
    return arith::SIToFPOp::create(b_, number, stored);
  }
  if (type == rt::DType::U8) {
    return arith::UIToFPOp::create(b_, number, stored);
  }
  if (element.isInteger(16)) {
    stored = arith::BitcastOp::create(
        b_, withElement(stored.getType(), b_.getBF16Type()), stored);
  }
  if (!element.isInteger(8)) {
    return arith::ExtFOp::create(b_, number, stored);
  }
  Value zero = arith::ConstantOp::create(b_, b_.getZeroAttr(stored.getType()));
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, stored, zero);
}

Value NestMemory::toStored(Value value, rt::DType type) {
  Type to = withElement(value.getType(), storedType(type));
  if (to == value.getType()) {
    return value;
  }
  if (type == rt::DType::Bool) {
    return arith::ExtUIOp::create(b_, to, value);
  }
  if (type == rt::DType::I8 || type == rt::DType::U8) {
    // In its range, and a number.
    Type wide = withElement(to, b_.getI32Type());
    return arith::TruncIOp::create(b_, to,
                                   arith::FPToSIOp::create(b_, wide, value));
  }
  if (type == rt::DType::BF16) {
    Value narrow =
        arith::TruncFOp::create(b_, withElement(to, b_.getBF16Type()), value);
    return arith::BitcastOp::create(b_, to, narrow);
  }
  return arith::TruncFOp::create(b_, to, value);
}
