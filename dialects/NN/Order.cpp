//===- Order.cpp - Operators that order or accumulate ---------------------===//
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

static LogicalResult checkKind(StringRef kind, StringRef first,
                               StringRef second, EmitError emitError) {
  if (kind != first && kind != second) {
    return emitError() << "'kind' is \"" << kind << "\", expected \"" << first
                       << "\" or \"" << second << "\"";
  }
  return success();
}

//===- arg_reduce ---------------------------------------------------------===//

FailureOr<RankedTensorType> ArgReduceOp::inferType(Adaptor adaptor,
                                                   EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  SmallVector<int64_t> shape(globalShape(type));
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(axis, shape.size(), emitError))) { // C1
    return failure();
  }
  if (shape[axis] == 0) { // C1
    return emitError() << "dimension " << axis
                       << " is empty, and has no first element";
  }
  if (failed(checkKind(adaptor.getKind(), "max", "min", emitError))) { // C2
    return failure();
  }
  shape.erase(shape.begin() + axis);
  return makeType(shape, IntegerType::get(type.getContext(), 64), emitError);
}

LoopNest ArgReduceOp::getLoopNest() {
  LoopNest nest = exchangeNest(getX(), getX(), getAxis(), 1);
  SmallVector<LoopId, 4> kept;
  for (unsigned dim = 0; dim < nest.loops.size(); ++dim) {
    if (dim != getAxis()) {
      kept.push_back(LoopId{dim});
    }
  }
  nest.results = {mapLoops(getY().getType(), kept)};
  return nest;
}

//===- cumulate -----------------------------------------------------------===//

FailureOr<RankedTensorType> CumulateOp::inferType(Adaptor adaptor,
                                                  EmitError emitError) {
  RankedTensorType type = globalType(adaptor.getX().getType());
  if (failed(checkAxis(adaptor.getAxis(), type.getRank(), emitError)) || // C1
      failed(checkKind(adaptor.getKind(), "sum", "prod", emitError))) {  // C2
    return failure();
  }
  return type;
}

LoopNest CumulateOp::getLoopNest() {
  LoopNest nest = exchangeNest(getX(), getY(), getAxis(), 1);
  if (getKind() == "sum") {
    addLinear(nest, getX().getType(), 0);
  }
  return nest;
}

//===- top_k --------------------------------------------------------------===//

FailureOr<RankedTensorType> TopKOp::inferType(Adaptor adaptor,
                                              EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  SmallVector<int64_t> shape(globalShape(type));
  int64_t axis = adaptor.getAxis(), k = adaptor.getK();
  if (failed(checkAxis(axis, shape.size(), emitError))) { // C1
    return failure();
  }
  if (k < 0 || k > shape[axis]) { // C2
    return emitError() << "'k' is " << k << ", expected 0 to " << shape[axis]
                       << ", the extent of dimension " << axis;
  }
  shape[axis] = k;
  return makeType(shape, IntegerType::get(type.getContext(), 64), emitError);
}

/// All elements of a line decide each of its results.
LoopNest TopKOp::getLoopNest() {
  int64_t extent = globalShape(getX().getType())[getAxis()];
  LoopNest nest = exchangeNest(getX(), getX(), getAxis(),
                               std::log2(std::max<double>(2, double(extent))));
  SmallVector<LoopId, 4> loops;
  for (unsigned dim = 0; dim < nest.operands[0].dims.size(); ++dim) {
    loops.push_back(LoopId{dim});
  }
  loops[getAxis()] = nest.add("k", getK(), LoopKind::Whole);
  nest.results = {mapLoops(getY().getType(), loops)};
  return nest;
}

} // namespace divisi::nn
