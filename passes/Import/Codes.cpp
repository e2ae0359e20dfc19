//===- Codes.cpp - What quantized tensors are made from -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Codes.h"

using namespace divisi;
using namespace mlir;

RankedTensorType divisi::typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Attribute divisi::splatOf(Value value) {
  // Dims that were taken apart leave it reshaped.
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>()) {
    value = reshape.getX();
  }
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto dense =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || dense.empty()) {
    return nullptr;
  }
  auto elements = dense.getValues<Attribute>();
  Attribute first = *elements.begin();
  return llvm::all_of(elements, [&](Attribute e) { return e == first; })
             ? first
             : Attribute();
}

std::optional<int64_t> divisi::integerOf(Value value) {
  auto number = dyn_cast_or_null<IntegerAttr>(splatOf(value));
  if (!number) {
    return std::nullopt;
  }
  return typeOf(value).getElementType().isUnsignedInteger()
             ? int64_t(number.getValue().getZExtValue())
             : number.getValue().getSExtValue();
}

std::optional<double> divisi::numberOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto dense =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !dense.isSplat() || !isa<FloatType>(dense.getElementType())) {
    return std::nullopt;
  }
  return dense.getSplatValue<APFloat>().convertToDouble();
}

bool divisi::hasBytes(Value value) {
  Type element = typeOf(value).getElementType();
  return element.isInteger(8);
}

std::optional<Codes> divisi::dequantizedCodes(Value value) {
  auto op = value.getDefiningOp<nn::DequantizeOp>();
  if (!op || !hasBytes(op.getX()) || op.getBlock() != 1 ||
      !typeOf(value).getElementType().isF32()) {
    return std::nullopt;
  }
  std::optional<int64_t> zero =
      op.getZero() ? integerOf(op.getZero()) : std::optional<int64_t>(0);
  return zero ? std::optional(Codes{op.getX(), op.getScale(), *zero})
              : std::nullopt;
}
