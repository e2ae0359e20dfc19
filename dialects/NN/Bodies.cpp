//===- Bodies.cpp - Operators that run functions --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Bodies.h"

#include "dialects/NN/Functions.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNBodies.cpp.inc"

namespace divisi::nn {

bool isBody(FunctionOpInterface function) {
  return isEntry(function) && function.isPrivate();
}

int64_t repeatsOf(LoopOp loop, int64_t outside) {
  constexpr int64_t most = 1'000'000;
  return outside * std::clamp<int64_t>(loop.getMax(), 1, most / outside);
}

FunctionOpInterface lookupBody(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(op, name);
}

/// The bodies that `op` names; none of another operator.
static SmallVector<FlatSymbolRefAttr, 2> bodiesOf(Operation *op) {
  if (auto loop = dyn_cast<LoopOp>(op)) {
    return {loop.getBodyAttr()};
  }
  if (auto branch = dyn_cast<IfOp>(op)) {
    return {branch.getThenAttr(), branch.getOtherwiseAttr()};
  }
  return {};
}

/// Whether `from`, or a body that it runs, is `function`.
static bool reaches(Operation *from, Operation *function,
                    SymbolTableCollection &symbols,
                    llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (from == function) {
    return true;
  }
  if (!seen.insert(from).second) {
    return false;
  }
  WalkResult result = from->walk([&](Operation *op) {
    for (FlatSymbolRefAttr name : bodiesOf(op)) {
      Operation *body = symbols.lookupNearestSymbolFrom(op, name);
      if (body && reaches(body, function, symbols, seen)) {
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether `op` may run the function `name` on `arguments`.
static LogicalResult verifyBody(Operation *op, FlatSymbolRefAttr name,
                                TypeRange arguments,
                                SymbolTableCollection &symbols) {
  auto isBox = [](Type type) { return globalType(type) != type; };
  if (llvm::any_of(arguments, isBox)) {
    return success();
  }
  auto function =
      symbols.lookupNearestSymbolFrom<FunctionOpInterface>(op, name);
  if (!function || !isBody(function)) { // C1
    return op->emitOpError()
           << "names " << name << ", expected a private function with a body";
  }
  if (!llvm::equal(function.getArgumentTypes(), arguments)) { // C2
    InFlightDiagnostic error = op->emitOpError()
                               << "gives " << name << " values of types ("
                               << arguments << "), expected ("
                               << function.getArgumentTypes() << ")";
    error.attachNote(function.getLoc()) << "the function is here";
    return error;
  }
  if (op->getNumResults() == 0 ||
      !llvm::equal(function.getResultTypes(), op->getResultTypes())) { // C3
    InFlightDiagnostic error = op->emitOpError()
                               << "has results of types ("
                               << op->getResultTypes() << "), but " << name
                               << " returns (" << function.getResultTypes()
                               << "), expected the same, and one at least";
    error.attachNote(function.getLoc()) << "the function is here";
    return error;
  }
  llvm::SmallPtrSet<Operation *, 4> seen;
  Operation *parent = op->getParentOfType<FunctionOpInterface>();
  if (parent && reaches(function, parent, symbols, seen)) { // C5
    return op->emitOpError() << "runs " << name << ", which runs itself";
  }
  return success();
}

LogicalResult LoopOp::verify() {
  if (getMax() < 0) { // C4
    return emitOpError() << "runs at most " << getMax()
                         << " times, expected 0 or more";
  }
  if (getValues().size() < getNumResults() ||
      !llvm::equal(getCarried().getTypes(), getResultTypes())) { // C3
    return emitOpError() << "has results of types (" << getResultTypes()
                         << "), expected those of the values that it carries";
  }
  return success();
}

LogicalResult LoopOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyBody(*this, getBodyAttr(), getOperandTypes(), symbols);
}

LogicalResult IfOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (FlatSymbolRefAttr name : bodiesOf(*this)) {
    if (failed(verifyBody(*this, name, getValues().getTypes(), symbols))) {
      return failure();
    }
  }
  return success();
}

} // namespace divisi::nn
