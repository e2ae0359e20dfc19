//===- SplitRegion.cpp - Fused calls become calls of their parts ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/SplitRegion.h"

#include "passes/Lower/LowerFunction.h"

#include "divisi/Evaluate/KernelCall.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

/// The call of `part`, of which `buffers` has what it reads, and what it makes
/// if that is a result of the region.
static CallOp makeCall(OpBuilder &builder, Operation &part,
                       FlatSymbolRefAttr grid, IRMapping &buffers,
                       SmallVectorImpl<Operation *> &made) {
  SmallVector<Value> inputs, outputs;
  for (Value operand : part.getOperands()) {
    inputs.push_back(buffers.lookup(operand));
  }
  for (Value result : part.getResults()) {
    if (!buffers.contains(result)) {
      auto buffer =
          AllocOp::create(builder, part.getLoc(),
                          bufferType(result.getType(), grid), IntegerAttr());
      made.push_back(buffer);
      buffers.map(result, buffer.getResult());
    }
    outputs.push_back(buffers.lookup(result));
  }
  auto call =
      CallOp::create(builder, part.getLoc(), part.getName().getStringRef(),
                     inputs, outputs, kernelConfig(&part));
  made.push_back(call);
  return call;
}

bool divisi::splitRegion(CallOp call,
                         llvm::function_ref<bool(CallOp)> takes) {
  OpBuilder builder(call);
  Block &body = call.getBody().front();
  IRMapping buffers;
  buffers.map(body.getArguments(), call.getInputs());
  buffers.map(body.getTerminator()->getOperands(), call.getOutputs());
  FlatSymbolRefAttr grid =
      cast<BufferType>(call.getOutputs()[0].getType()).getGrid();
  SmallVector<Operation *> made;
  for (Operation &part : body.without_terminator()) {
    if (!takes(makeCall(builder, part, grid, buffers, made))) {
      for (Operation *op : llvm::reverse(made)) {
        op->erase();
      }
      return false;
    }
  }
  call.erase();
  return true;
}
