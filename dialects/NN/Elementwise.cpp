//===- Elementwise.cpp - Operators on single elements ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Nests.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace divisi::nn {

//===- gelu ---------------------------------------------------------------===//

FailureOr<RankedTensorType> GeluOp::inferType(Adaptor adaptor,
                                              EmitError emitError) {
  StringRef approximate = adaptor.getApproximate();
  if (approximate != "none" && approximate != "tanh") { // C1
    return emitError() << "'approximate' is \"" << approximate
                       << "\", expected \"none\" or \"tanh\"";
  }
  return globalType(adaptor.getX().getType());
}

LoopNest GeluOp::getLoopNest() { return elementwiseNest(*this, 14, {}); }

//===- cast ---------------------------------------------------------------===//

LogicalResult CastOp::checkType(Adaptor adaptor, RankedTensorType type,
                                EmitError emitError) {
  ArrayRef<int64_t> shape = globalShape(adaptor.getX().getType());
  if (shape != type.getShape()) { // C1
    return emitError() << "turns " << globalType(adaptor.getX().getType())
                       << " into " << type << ", expected the same shape";
  }
  auto to = dyn_cast<FloatType>(type.getElementType());
  bool isFloat8 = to && to.getWidth() == 8;
  if (adaptor.getSaturateAttr() && !isFloat8) { // C2
    return emitError() << "says 'saturate' of " << type
                       << ", expected a result of f8";
  }
  return success();
}

LoopNest CastOp::getLoopNest() {
  Type from = getX().getType().getElementType();
  Type to = getY().getType().getElementType();
  // A cast that rounds is not linear: a sum of rounded summands is another
  // number.
  auto source = dyn_cast<FloatType>(from), target = dyn_cast<FloatType>(to);
  bool isExact = source && target && hasSums(from) &&
                 APFloat::isRepresentableBy(source.getFloatSemantics(),
                                            target.getFloatSemantics());
  return isExact ? elementwiseNest(*this, 1, {{0}})
                 : elementwiseNest(*this, 1, {});
}

//===- compare ------------------------------------------------------------===//

FailureOr<RankedTensorType> CompareOp::inferType(Adaptor adaptor,
                                                 EmitError emitError) {
  static constexpr StringLiteral predicates[] = {"eq", "ne", "lt",
                                                 "le", "gt", "ge"};
  if (!llvm::is_contained(predicates, adaptor.getPredicate())) { // C2
    return emitError() << "'predicate' is \"" << adaptor.getPredicate()
                       << "\", expected one of eq, ne, lt, le, gt, ge";
  }
  Type element = getElementTypeOrSelf(adaptor.getLhs());
  return inferElementwise(adaptor.getOperands(), // C1
                          IntegerType::get(element.getContext(), 1), emitError);
}

LoopNest CompareOp::getLoopNest() { return elementwiseNest(*this, 1, {}); }

//===- select -------------------------------------------------------------===//

FailureOr<RankedTensorType> SelectOp::inferType(Adaptor adaptor,
                                                EmitError emitError) {
  Type x = getElementTypeOrSelf(adaptor.getX());
  Type y = getElementTypeOrSelf(adaptor.getY());
  if (x != y) { // C2
    return emitError() << "selects between elements of types " << x << " and "
                       << y << ", expected the same type";
  }
  return inferElementwise(adaptor.getOperands(), x, emitError); // C1
}

LoopNest SelectOp::getLoopNest() { return elementwiseNest(*this, 1, {{1, 2}}); }

} // namespace divisi::nn
