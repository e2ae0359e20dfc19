//===- CheckTypes.cpp - Whether tensors are global ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckTypes.h"

#include "dialects/NN/NN.h"

using namespace mlir;

namespace divisi::plan {

static LogicalResult checkIsGlobal(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor || !tensor.getEncoding() ? success()
                                          : op->emitOpError()
                                                << "has the type " << type
                                                << ", expected a global tensor";
}

LogicalResult checkTypes(ModuleOp module) {
  WalkResult walked = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    SmallVector<Type> types(op->getResultTypes());
    if (auto global = dyn_cast<nn::GlobalOp>(op)) {
      types.push_back(global.getTensorType());
    }
    for (Region &region : op->getRegions()) {
      for (Block &block : region) {
        llvm::append_range(types, block.getArgumentTypes());
      }
    }
    bool isGood = llvm::all_of(
        types, [&](Type type) { return succeeded(checkIsGlobal(op, type)); });
    return isGood ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

} // namespace divisi::plan
