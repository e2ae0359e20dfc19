//===- Quantize.cpp - Numbers in few bits with a scale --------------------===//
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

namespace divisi::nn {

/// The extents of scales that are not broadcast.
static SmallVector<int64_t> scaleShape(ArrayRef<int64_t> x, int64_t axis,
                                       int64_t block) {
  SmallVector<int64_t> shape(x);
  if (!shape.empty()) {
    shape[axis] = shape[axis] / block + (shape[axis] % block != 0);
  }
  return shape;
}

static LogicalResult checkScale(StringRef name, Value given,
                                ArrayRef<int64_t> wanted, EmitError emitError) {
  ArrayRef<int64_t> shape = globalShape(given.getType());
  bool fits = shape.size() == wanted.size();
  for (size_t dim = 0; fits && dim < shape.size(); ++dim) {
    fits = shape[dim] == 1 || shape[dim] == wanted[dim];
  }
  if (!fits) { // C4
    return emitError() << "'" << name << "' has shape [" << shape
                       << "], expected [" << wanted
                       << "], or 1 instead of a dimension";
  }
  return success();
}

/// What both operators check of attributes and scales (C2, C3, C4).
template <typename Adaptor>
static LogicalResult checkScales(Adaptor adaptor, EmitError emitError) {
  ArrayRef<int64_t> x = globalShape(adaptor.getX().getType());
  int64_t axis = adaptor.getAxis(), block = adaptor.getBlock();
  int64_t rank = std::max<int64_t>(1, int64_t(x.size()));
  if (failed(checkAxis(axis, rank, emitError))) { // C2
    return failure();
  }
  if (block < 1) { // C3
    return emitError() << "'block' is " << block << ", expected at least 1";
  }
  SmallVector<int64_t> wanted = scaleShape(x, axis, block);
  if (failed(checkScale("scale", adaptor.getScale(), wanted, // C4
                        emitError)) ||
      (adaptor.getZero() &&
       failed(checkScale("zero", adaptor.getZero(), wanted, emitError)))) {
    return failure();
  }
  return success();
}

/// The map of scales or zero points over the loops of x.
static TensorMap mapScales(LoopNest &nest, Type type, ArrayRef<LoopId> loops,
                           int64_t axis, int64_t block) {
  TensorMap map = mapLoops(type, {});
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    int64_t extent = nest.loop(loop).extent;
    if (map.shape[dim] == 1 && extent != 1) {
      map.dims.push_back(DimMap::none());
    } else if (int64_t(dim) != axis || block == 1) {
      map.dims.push_back(DimMap::loop(loop));
    } else {
      map.dims.push_back(tableMap(nest, loop, [&](int64_t i) {
        return Interval{i / block, i / block + 1};
      }));
    }
  }
  return map;
}

template <typename OpT>
static LoopNest scaledNest(OpT op, double flopsPerPoint) {
  LoopNest nest;
  SmallVector<LoopId, 4> loops =
      addLoops(nest, globalShape(op.getX().getType()));
  nest.operands = {mapLoops(op.getX().getType(), loops)};
  for (Value scale : op->getOperands().drop_front()) {
    nest.operands.push_back(
        mapScales(nest, scale.getType(), loops, op.getAxis(), op.getBlock()));
  }
  nest.results = {mapLoops(op.getY().getType(), loops)};
  nest.flopsPerPoint = flopsPerPoint;
  return nest;
}

//===- quantize -----------------------------------------------------------===//

LogicalResult QuantizeOp::checkType(Adaptor adaptor, RankedTensorType type,
                                    EmitError emitError) {
  Type x = getElementTypeOrSelf(adaptor.getX().getType());
  Type scale = getElementTypeOrSelf(adaptor.getScale().getType());
  if (x != scale) { // C1
    return emitError() << "'x' has elements of " << x << ", but 'scale' of "
                       << scale;
  }
  if (adaptor.getZero() && getElementTypeOrSelf(adaptor.getZero().getType()) !=
                               type.getElementType()) { // C1
    return emitError() << "'zero' has elements of "
                       << getElementTypeOrSelf(adaptor.getZero().getType())
                       << ", but the result of " << type.getElementType();
  }
  if (failed(checkScales(adaptor, emitError))) { // C2 C3 C4
    return failure();
  }
  if (type.getShape() != globalShape(adaptor.getX().getType())) { // C5
    return emitError() << "the result has shape [" << type.getShape()
                       << "], expected that of 'x', ["
                       << globalShape(adaptor.getX().getType()) << "]";
  }
  return success();
}

LoopNest QuantizeOp::getLoopNest() { return scaledNest(*this, 6); }

//===- dequantize ---------------------------------------------------------===//

FailureOr<RankedTensorType> DequantizeOp::inferType(Adaptor adaptor,
                                                    EmitError emitError) {
  RankedTensorType x = globalType(adaptor.getX().getType());
  if (adaptor.getZero() && getElementTypeOrSelf(adaptor.getZero().getType()) !=
                               x.getElementType()) { // C1
    return emitError() << "'zero' has elements of "
                       << getElementTypeOrSelf(adaptor.getZero().getType())
                       << ", but 'x' of " << x.getElementType();
  }
  if (failed(checkScales(adaptor, emitError))) { // C2 C3 C4
    return failure();
  }
  return makeType(x.getShape(),
                  getElementTypeOrSelf(adaptor.getScale().getType()),
                  emitError);
}

LoopNest DequantizeOp::getLoopNest() { return scaledNest(*this, 2); }

//===- factors ------------------------------------------------------------===//

namespace {
/// Implements UnflattenInterface from outside of the operator. Scales of blocks
/// stay whole along the axis, which says nothing else.
template <typename OpT>
struct ScaledModel
    : UnflattenInterface::ExternalModel<ScaledModel<OpT>, OpT> {
  void tieDims(Operation *op, DimTies &ties) const { ties.tieLoops(op); }
  std::optional<FactoredForm> getFactoredForm(Operation *op,
                                              const Factors &factors) const {
    auto scaled = cast<OpT>(op);
    FactoredForm form = elementwiseForm(op, factors);
    Builder builder(op->getContext());
    form.attributes.push_back(builder.getNamedAttr(
        "axis", builder.getI64IntegerAttr(factors.position(
                    scaled.getX(), unsigned(scaled.getAxis())))));
    return form;
  }
};
} // namespace

void unflattenScales(MLIRContext &context) {
  QuantizeOp::attachInterface<ScaledModel<QuantizeOp>>(context);
  DequantizeOp::attachInterface<ScaledModel<DequantizeOp>>(context);
}

} // namespace divisi::nn
