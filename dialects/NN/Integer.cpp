//===- Integer.cpp - Products of quantized numbers ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Integer.h"

#include "dialects/NN/Nests.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNInteger.cpp.inc"

namespace divisi::nn {

LogicalResult checkZeroPoint(StringRef name, int64_t zero, Type type,
                             EmitError emitError) {
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  bool fits = element.isUnsigned()
                  ? zero >= 0 && llvm::isUIntN(element.getWidth(), zero)
                  : llvm::isIntN(element.getWidth(), zero);
  if (!fits) {
    return emitError() << "'" << name << "' is " << zero
                       << ", expected a number of " << element;
  }
  return success();
}

//===- add_dequantized ----------------------------------------------------===//

/// One number with as many dims as `x` (C3).
static LogicalResult checkOne(StringRef name, Value value, Value x,
                              EmitError emitError) {
  SmallVector<int64_t> wanted(globalShape(x.getType()).size(), 1);
  if (globalShape(value.getType()) != ArrayRef(wanted)) {
    return emitError() << "'" << name << "' has shape ["
                       << globalShape(value.getType()) << "], expected ["
                       << wanted << "]";
  }
  return success();
}

FailureOr<RankedTensorType> AddDequantizedOp::inferType(Adaptor adaptor,
                                                        EmitError emitError) {
  RankedTensorType a = globalType(adaptor.getA().getType());
  Type scale = getElementTypeOrSelf(adaptor.getScale().getType());
  if (a.getShape() != globalShape(adaptor.getX().getType()) ||
      a.getElementType() != scale) { // C1
    return emitError() << "'a' has type " << a << ", expected the shape of 'x', ["
                       << globalShape(adaptor.getX().getType())
                       << "], and elements of " << scale;
  }
  Type x = getElementTypeOrSelf(adaptor.getX().getType());
  if (adaptor.getZero() &&
      getElementTypeOrSelf(adaptor.getZero().getType()) != x) { // C2
    return emitError() << "'zero' has elements of "
                       << getElementTypeOrSelf(adaptor.getZero().getType())
                       << ", but 'x' of " << x;
  }
  if (failed(checkOne("scale", adaptor.getScale(), adaptor.getX(), // C3
                      emitError)) ||
      (adaptor.getZero() && failed(checkOne("zero", adaptor.getZero(),
                                            adaptor.getX(), emitError)))) {
    return failure();
  }
  return a;
}

LoopNest AddDequantizedOp::getLoopNest() {
  return elementwiseNest(*this, 3, {});
}

} // namespace divisi::nn
