//===- StoredWeights.cpp - What an artifact stores of weights -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredWeights.h"

#include "dialects/NN/NN.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;

StoredWeights::StoredWeights(func::FuncOp function) : origins_(function) {
  for (Operation &op : function.getOps()) {
    bool isStatic = op.getNumResults() > 0 &&
                    llvm::all_of(op.getResults(),
                                 [&](Value v) { return origins_.isStatic(v); });
    for (Value operand : op.getOperands()) {
      if (!isStatic) {
        visit(operand);
      }
    }
  }
}

int64_t StoredWeights::count(FloatType type) const {
  return llvm::count_if(values_, [&](Value value) {
    return getElementTypeOrSelf(value.getType()) == type;
  });
}

int64_t StoredWeights::countBytes() const {
  int64_t bytes = 0;
  for (Value value : values_) {
    bytes += *nn::byteCount(cast<RankedTensorType>(value.getType()));
  }
  return bytes;
}

void StoredWeights::visit(Value value) {
  if (origins_.of(value) != Origin::Weight) {
    return;
  }
  if (isHoisted(value)) {
    values_.insert(value);
  } else {
    llvm::for_each(value.getDefiningOp()->getOperands(),
                   [&](Value operand) { visit(operand); });
  }
}

/// As nn-hoist-init sees it: what repeats elements is done where it is used.
bool StoredWeights::isHoisted(Value value) {
  auto known = hoisted_.find(value);
  if (known != hoisted_.end()) {
    return known->second;
  }
  Operation *op = value.getDefiningOp();
  int64_t made = cast<RankedTensorType>(value.getType()).getNumElements();
  int64_t taken = op->getNumOperands() == 0 ? made : 0;
  for (Value operand : op->getOperands()) {
    taken += cast<RankedTensorType>(operand.getType()).getNumElements();
  }
  bool all = llvm::all_of(op->getOperands(),
                          [&](Value operand) { return isHoisted(operand); });
  return hoisted_[value] = made <= taken && all;
}
