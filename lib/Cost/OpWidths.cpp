//===- OpWidths.cpp - The widths of the tensors of an operator ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "divisi/Cost/OpCost.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace divisi {

static Precision precisionOf(Type element) {
  if (element.isF64()) {
    return Precision::F64;
  }
  if (element.isF16()) {
    return Precision::F16;
  }
  return element.isBF16() ? Precision::BF16 : Precision::F32;
}

OpWidths widthsOf(Operation *op) {
  OpWidths widths;
  for (Type type : op->getOperandTypes()) {
    widths.operands.push_back(nn::elementBits(getElementTypeOrSelf(type)));
  }
  for (Type type : op->getResultTypes()) {
    Type element = getElementTypeOrSelf(type);
    widths.results.push_back(nn::elementBits(element));
    widths.precision = precisionOf(element);
  }
  return widths;
}

} // namespace divisi
