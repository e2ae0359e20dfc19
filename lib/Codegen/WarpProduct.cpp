//===- WarpProduct.cpp - Products of tiles by a warp ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/WarpProduct.h"
#include "lib/Codegen/StoredElements.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace divisi;

SmallVector<Value> WarpProduct::add(ValueRange a, ValueRange b, ValueRange c) {
  bool isHalf = type_ == rt::DType::F16;
  auto pairs = [&](ValueRange words) {
    Values operands(words);
    for (Value &word : operands) {
      if (isHalf) {
        auto pair = VectorType::get(2, b_.getF16Type());
        word = LLVM::BitcastOp::create(b_, pair, word);
      }
    }
    return operands;
  };
  SmallVector<Type> four(4, b_.getF32Type());
  NVVM::MMATypes type = isHalf ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Value all = NVVM::MmaOp::create(
      b_, LLVM::LLVMStructType::getLiteral(b_.getContext(), four), pairs(a),
      pairs(b), c, {rows, columns, depth}, std::nullopt, std::nullopt,
      std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Values sums;
  for (int64_t i = 0; i < 4; ++i) {
    sums.push_back(LLVM::ExtractValueOp::create(b_, all, i));
  }
  return sums;
}

Value WarpProduct::pack(Value low, Value high) {
  Type half = b_.getI16Type(), word = b_.getI32Type();
  auto bits = [&](Value value) -> Value {
    value = toStored(b_, value, type_);
    value =
        value.getType() == half ? value : make<arith::BitcastOp>(half, value);
    return make<arith::ExtUIOp>(word, value);
  };
  Value shift = arith::ConstantIntOp::create(b_, 16, 32);
  Value lower = bits(low);
  return make<arith::OrIOp>(lower, make<arith::ShLIOp>(bits(high), shift));
}
