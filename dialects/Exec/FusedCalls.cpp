//===- FusedCalls.cpp - Calls with a region -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/NN/NN.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

LogicalResult exec::verifyFusedCall(CallOp op) {
  Block &block = op.getBody().front();
  auto yield = dyn_cast_if_present<YieldOp>(
      block.mightHaveTerminator() ? block.getTerminator() : nullptr);
  if (!yield || block.getArgumentTypes() != tensorTypes(op.getInputs()) ||
      yield.getOperandTypes() != tensorTypes(op.getOutputs())) {
    return op.emitOpError("(C4) needs a region from the tensors of its inputs "
                          "to those of its outputs");
  }
  for (Operation &inner : block.without_terminator()) {
    bool isCalled = isa<nn::LoopInterface>(inner) &&
                    !isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(inner);
    if (!isCalled) {
      return op.emitOpError("(C4) has a region with '")
             << inner.getName() << "', which no kernel computes";
    }
  }
  llvm::SmallPtrSet<Value, 2> seen;
  for (Value result : yield.getValues()) {
    if (!result.getDefiningOp() || !seen.insert(result).second) {
      return op.emitOpError("(C4) must yield different results of operators");
    }
  }
  return success();
}
