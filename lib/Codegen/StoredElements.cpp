//===- StoredElements.cpp - Elements in memory ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace divisi;

Type divisi::storedElement(OpBuilder &builder, rt::DType type) {
  switch (type) {
  case rt::DType::F64:
    return builder.getF64Type();
  case rt::DType::F32:
    return builder.getF32Type();
  case rt::DType::F16:
    return builder.getF16Type();
  case rt::DType::BF16: // which LLVM has no masked loads of
    return builder.getI16Type();
  default:
    return builder.getIntegerType(unsigned(rt::byteWidth(type)) * 8);
  }
}

Type divisi::withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? VectorType::get(vector.getShape(), element) : element;
}

Value divisi::fromStored(ImplicitLocOpBuilder &builder, Value stored,
                         rt::DType type) {
  Type number = withElement(stored.getType(), builder.getF32Type());
  switch (type) {
  case rt::DType::F16:
    return arith::ExtFOp::create(builder, number, stored);
  case rt::DType::BF16:
    stored = arith::BitcastOp::create(
        builder, withElement(stored.getType(), builder.getBF16Type()), stored);
    return arith::ExtFOp::create(builder, number, stored);
  case rt::DType::Bool: {
    Value zero = arith::ConstantOp::create(
        builder, builder.getZeroAttr(stored.getType()));
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, stored,
                                 zero);
  }
  default:
    return stored;
  }
}

Value divisi::toStored(ImplicitLocOpBuilder &builder, Value value,
                       rt::DType type) {
  Type to = withElement(value.getType(), storedElement(builder, type));
  switch (type) {
  case rt::DType::F16:
    return arith::TruncFOp::create(builder, to, value);
  case rt::DType::BF16:
    return arith::BitcastOp::create(
        builder, to,
        arith::TruncFOp::create(builder, withElement(to, builder.getBF16Type()),
                                value));
  case rt::DType::Bool:
    return arith::ExtUIOp::create(builder, to, value);
  default:
    return value;
  }
}
