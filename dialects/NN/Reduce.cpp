//===- Reduce.cpp - Operators that fold whole dimensions ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Nests.h"

#include <cmath>

using namespace mlir;

namespace divisi::nn {

//===- reduce -------------------------------------------------------------===//

FailureOr<RankedTensorType> ReduceOp::inferType(Adaptor adaptor,
                                                EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> x = globalShape(type);
  std::optional<ReduceKind> kind = parseReduceKind(adaptor.getKind());
  bool logic = kind == ReduceKind::And || kind == ReduceKind::Or;
  if (!kind || logic != type.getElementType().isInteger(1)) { // C1
    return emitError() << "'kind' is \"" << adaptor.getKind()
                       << "\", expected sum, prod, max or min for numbers, and "
                          "or or for booleans, got elements of type "
                       << type.getElementType();
  }
  if (failed(checkAxes(adaptor.getAxes(), x.size(), "axes", // C2
                       emitError))) {
    return failure();
  }
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(x)) {
    if (!llvm::is_contained(adaptor.getAxes(), static_cast<int64_t>(dim))) {
      shape.push_back(extent);
    }
  }
  return makeType(shape, type.getElementType(), emitError);
}

/// Only sums are linear; a maximum is partial, and nothing passes through it.
LoopNest ReduceOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getX().getType()));
  SmallVector<LoopId, 4> kept;
  ReduceKind kind = *parseReduceKind(getKind());
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    if (llvm::is_contained(getAxes(), static_cast<int64_t>(dim))) {
      nest.loops[loop.index].kind = LoopKind::Reduction;
      nest.loops[loop.index].reduce = kind;
    } else {
      kept.push_back(loop);
    }
  }
  nest.operands = {mapLoops(getX().getType(), loops)};
  nest.results = {mapLoops(getY().getType(), kept)};
  if (kind == ReduceKind::Sum) {
    nest.linear = {{0}};
  }
  nest.flopsPerPoint = 1;
  return nest;
}

//===- softmax, normalize -------------------------------------------------===//

FailureOr<RankedTensorType> SoftmaxOp::inferType(Adaptor adaptor,
                                                 EmitError emitError) {
  RankedTensorType type = globalType(adaptor.getX().getType());
  if (failed(checkAxis(adaptor.getAxis(), type.getRank(), // C1
                       emitError))) {
    return failure();
  }
  return type;
}

LoopNest SoftmaxOp::getLoopNest() {
  return exchangeNest(getX(), getY(), getAxis(), 14);
}

FailureOr<RankedTensorType> NormalizeOp::inferType(Adaptor adaptor,
                                                   EmitError emitError) {
  RankedTensorType type = globalType(adaptor.getX().getType());
  if (failed(checkAxes(adaptor.getAxes(), type.getRank(), "axes", // C1
                       emitError))) {
    return failure();
  }
  double epsilon = adaptor.getEpsilon();
  if (!std::isfinite(epsilon) || epsilon < 0) { // C2
    return emitError() << "'epsilon' is " << adaptor.getEpsilonAttr()
                       << ", expected a finite number of at least 0";
  }
  return type;
}

LoopNest NormalizeOp::getLoopNest() {
  return exchangeNest(getX(), getY(), getAxes(), 8);
}

} // namespace divisi::nn
