//===- LocalOperation.cpp - What becomes of a local operation -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Schedule/LocalOperation.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Evaluate/KernelCall.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

std::optional<uint64_t> divisi::tagOf(Operation *op) {
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    return transfer.getTag();
  }
  auto step = dyn_cast<StepInterface>(op);
  return step ? step.getTag() : std::nullopt;
}

void divisi::setTag(Operation *op, uint64_t tag) {
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    transfer.setTag(tag);
  } else {
    cast<StepInterface>(op).setTag(tag);
  }
}

std::optional<unsigned> divisi::viewedOperandOf(Operation *op) {
  if (!isa<nn::LoopInterface>(op) ||
      isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(op)) {
    return std::nullopt;
  }
  std::optional<rt::KernelQuery> query =
      queryKernel(op->getName().getStringRef(), kernelConfig(op),
                  op->getOperandTypes(), op->getResultTypes());
  return query ? viewedOperand(*query, op->getNumResults()) : std::nullopt;
}

StringRef divisi::oldGlobalOf(Value value) {
  while (Operation *maker = value.getDefiningOp()) {
    if (auto read = dyn_cast<nn::ReadOp>(maker)) {
      return read.getGlobal();
    }
    std::optional<unsigned> viewed = viewedOperandOf(maker);
    if (!viewed) {
      break;
    }
    value = maker->getOperand(*viewed);
  }
  return {};
}

bool divisi::isOperator(Operation *op) {
  if (isa<StepInterface>(op)) {
    return !tagOf(op);
  }
  return isa<nn::LoopInterface>(op) &&
         !isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(op) &&
         !viewedOperandOf(op);
}

bool divisi::canMove(Operation &op) {
  return tagOf(&op) || isa<nn::ReadOp, nn::UpdateOp, func::ReturnOp>(op) ||
         (isPure(&op) && isa<nn::LoopInterface, StepInterface>(op));
}

std::optional<MoveCost> divisi::priceOf(Operation *op, OperationCost &cost) {
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    return cost.ofTransfer(transfer);
  }
  if (auto step = dyn_cast<StepInterface>(op)) {
    return cost.ofStep(step);
  }
  auto loops = cast<nn::LoopInterface>(op);
  FailureOr<Strategy> strategy = requireStrategy(loops);
  if (failed(strategy)) {
    return std::nullopt;
  }
  MoveCost price;
  price.nanoseconds = cost.ofOperator(loops, *strategy);
  return price;
}

std::string divisi::communicatorOf(Operation *op) {
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    return (transfer.getSourceGrid() + "->" + transfer.getTargetGrid()).str();
  }
  auto step = cast<StepInterface>(op);
  std::string name = step.getGridAttr().getValue().str();
  for (StringRef axis : step.getAxesAttr().getAsValueRange<StringAttr>()) {
    name += ("." + axis).str();
  }
  return name;
}
