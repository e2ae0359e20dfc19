//===- Random.cpp - Random numbers ----------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Random.h"

#include "dialects/NN/Nests.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNRandom.cpp.inc"

namespace divisi::nn {

LogicalResult RandomOp::checkType(Adaptor adaptor, RankedTensorType type,
                                  EmitError emitError) {
  if (!type.getElementType().isF32()) { // C1
    return emitError() << "has elements of type " << type.getElementType()
                       << ", expected f32";
  }
  int64_t stream = adaptor.getStream();
  if (stream < 0 || !llvm::isUInt<32>(stream)) { // C2
    return emitError() << "'stream' is " << stream
                       << ", expected 0 to 4294967295";
  }
  return success();
}

/// About as many operations as four elements of ten rounds take.
LoopNest RandomOp::getLoopNest() {
  return elementwiseNest(*this, /*flopsPerPoint=*/32, {});
}

} // namespace divisi::nn
