//===- NestMemory.cpp - Where the rows of a nest lie ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/NestMemory.h"
#include "lib/Codegen/StoredElements.h"

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
        rows_[t] =
            at(rows_[t], storedElement(b_, nest_.tensors[t].type), offset);
      }
    }
  }
}
