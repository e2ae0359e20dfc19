//===- Known.cpp - What is the same in every run --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Known.h"

#include "dialects/NN/Functions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace divisi::nn;
using namespace mlir;

KnownValues::KnownValues(ModuleOp module) {
  for (auto global : module.getOps<GlobalOp>()) {
    kinds_[global.getSymNameAttr()] = global.getKind();
    if (global->hasAttr(kTrainedAttr)) {
      updated_.insert(global.getSymName());
    }
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (isEntry(function)) {
      function.walk(
          [&](UpdateOp update) { updated_.insert(update.getGlobal()); });
    }
  }
}

/// Programs have thousands of globals, and rules ask about each again and
/// again.
std::optional<GlobalKind> KnownValues::kindOf(ReadOp read) const {
  auto found = kinds_.find(read.getGlobalAttr().getAttr());
  if (found != kinds_.end()) {
    return found->second;
  }
  auto global = SymbolTable::lookupNearestSymbolFrom<GlobalOp>(
      read, read.getGlobalAttr());
  return global ? std::optional(global.getKind()) : std::nullopt;
}

/// Goes through what makes the value, each operator once.
bool KnownValues::comesFrom(Value value, bool isParameterEnough) const {
  SmallVector<Operation *> open{value.getDefiningOp()};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!op) {
      return false;
    }
    if (!seen.insert(op).second) {
      continue;
    }
    if (auto read = dyn_cast<ReadOp>(op)) {
      std::optional<GlobalKind> kind = kindOf(read);
      bool isEnough =
          kind && (isParameterEnough ? *kind != GlobalKind::State
                                     : *kind == GlobalKind::Constant);
      if (!isEnough || updated_.contains(read.getGlobal())) {
        return false;
      }
      continue;
    }
    if (!isa<LoopInterface>(op) || op->getNumRegions() != 0) {
      return false;
    }
    for (Value operand : op->getOperands()) {
      open.push_back(operand.getDefiningOp());
    }
  }
  return true;
}

bool KnownValues::isKnown(Value value) const { return comesFrom(value, true); }

bool KnownValues::isConstant(Value value) const {
  return comesFrom(value, false);
}

static int64_t countOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

HoistedOperators divisi::nn::hoistedOperators(Block &body,
                                              const KnownValues &known) {
  HoistedOperators result;
  // The fewest elements that a value can be made of, stored or repeated.
  llvm::DenseMap<Value, int64_t> least;
  llvm::SmallPtrSet<Operation *, 8> growing;
  for (Operation &op : body) {
    bool isSource = isa<ReadOp, ConstantOp>(op);
    if (op.getNumResults() != 1 || !isa<LoopInterface>(op) ||
        !known.isKnown(op.getResult(0)) ||
        !llvm::all_of(op.getOperands(),
                      [&](Value operand) { return least.contains(operand); }) ||
        (!isSource && op.getNumOperands() == 0)) {
      continue;
    }
    int64_t count = countOf(op.getResult(0)), read = 0;
    for (Value operand : op.getOperands()) {
      read += least.lookup(operand);
    }
    least[op.getResult(0)] = isSource ? count : std::min(count, read);
    if (isSource) {
      continue;
    }
    result.known.insert(&op);
    if (count > read) {
      growing.insert(&op);
    }
  }
  for (Operation *op : llvm::reverse(result.known)) {
    bool isWanted = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return !result.known.contains(user) || result.kept.contains(user);
    });
    if (isWanted && growing.contains(op)) {
      result.kept.insert(op);
    } else if (isWanted) {
      result.derived.push_back(op);
    }
  }
  std::reverse(result.derived.begin(), result.derived.end());
  return result;
}
