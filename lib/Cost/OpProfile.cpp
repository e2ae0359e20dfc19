//===- OpProfile.cpp - What the costs of an operator depend on ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/OpCost.h"
#include "divisi/Evaluate/KernelCall.h"

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
  if (element.isInteger(8)) {
    return Precision::I8;
  }
  return element.isBF16() ? Precision::BF16 : Precision::F32;
}

/// Whether the result is in what elements like its operands are summed in: f32
/// of bf16, i32 of codes. What is multiplied are the operands.
static bool sumsWider(nn::LoopInterface op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1) {
    return false;
  }
  Type element = getElementTypeOrSelf(op->getOperand(0));
  return getElementTypeOrSelf(op->getResult(0)) == nn::accumulatorType(element);
}

/// Asks the reference kernel, as lowering does, about shards of that split.
/// Whoever computes makes other bytes, and need not be asked.
static bool isView(const ViewQuery &query, const LoopNest &nest,
                   const Grid &grid, const Split &split) {
  if (nest.flopsPerPoint != 0) {
    return false;
  }
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>> operands, results;
  for (unsigned i = 0; i != nest.operands.size(); ++i) {
    operands.push_back(operandLayout(nest, grid, split, i)
                           .localShape(grid, nest.operands[i].shape));
  }
  for (unsigned i = 0; i != nest.results.size(); ++i) {
    results.push_back(resultLayout(nest, grid, split, i)
                          .localShape(grid, nest.results[i].shape));
  }
  return query.viewedOperand(operands, results).has_value();
}

OpProfile profileOf(nn::LoopInterface op) {
  OpProfile profile;
  for (Type type : op->getOperandTypes()) {
    profile.operands.push_back(nn::elementBits(getElementTypeOrSelf(type)));
  }
  for (Type type : op->getResultTypes()) {
    Type element = getElementTypeOrSelf(type);
    profile.results.push_back(nn::elementBits(element));
    profile.precision = precisionOf(element);
  }
  if (sumsWider(op)) {
    profile.precision = precisionOf(getElementTypeOrSelf(op->getOperand(0)));
  }
  if (isa<nn::ConstantOp>(op)) {
    // It is there before a run.
    profile.isView = [](const LoopNest &, const Grid &, const Split &) {
      return true;
    };
    return profile;
  }
  profile.isView = [query = ViewQuery(op)](const LoopNest &nest,
                                           const Grid &grid,
                                           const Split &split) {
    return isView(query, nest, grid, split);
  };
  return profile;
}

} // namespace divisi
