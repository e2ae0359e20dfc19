//===- Origins.cpp - What a value comes of --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "dialects/NN/NN.h"

using namespace mlir;
using namespace divisi;

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

Origins::Origins(func::FuncOp function) {
  for (Value argument : function.getArguments()) {
    origins_[argument] =
        isFloat(argument.getType()) ? Origin::Activation : Origin::Table;
  }
  for (Operation &op : function.getOps()) {
    Origin origin = originOf(&op);
    for (Value result : op.getResults()) {
      origins_[result] = origin;
    }
  }
}

/// Whether `op` makes one element of many, or finds it among them. A loop of
/// one iteration does not: exporters write outer products as matrix products.
static bool combinesElements(Operation *op) {
  auto loops = dyn_cast<nn::LoopInterface>(op);
  return loops && llvm::any_of(loops.getLoopNest().loops, [](const Loop &loop) {
           return loop.leavesPartial() && loop.extent > 1;
         });
}

Origin Origins::originOf(Operation *op) const {
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
        op, read.getGlobalAttr());
    bool isState = global.getKind() == nn::GlobalKind::State;
    return isState                   ? Origin::Activation
           : isFloat(read.getType()) ? Origin::Weight
                                     : Origin::Constant;
  }
  Origin last = Origin::Constant;
  bool hasWeight = false;
  for (Value operand : op->getOperands()) {
    last = std::max(last, of(operand));
    hasWeight |= of(operand) == Origin::Weight;
  }
  bool isActivation =
      last == Origin::Table && hasWeight && combinesElements(op);
  return isActivation ? Origin::Activation : last;
}
