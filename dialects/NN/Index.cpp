//===- Index.cpp - Operators that compute with indices --------------------===//
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

/// Adds the loop over the rows of a table of `type` chosen by data.
static LoopId addIndexed(LoopNest &nest, RankedTensorType type, int64_t rows) {
  return nest.add("v", rows, LoopKind::Indexed,
                  hasSums(type.getElementType()) ? ReduceKind::Sum
                                                 : ReduceKind::Or);
}

//===- iota ---------------------------------------------------------------===//

LogicalResult IotaOp::checkType(Adaptor adaptor, RankedTensorType type,
                                EmitError emitError) {
  return checkAxis(adaptor.getAxis(), type.getRank(), emitError); // C1
}

LoopNest IotaOp::getLoopNest() { return elementwiseNest(*this, 0, {}); }

//===- gather -------------------------------------------------------------===//

FailureOr<RankedTensorType> GatherOp::inferType(Adaptor adaptor,
                                                EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getData().getType());
  ArrayRef<int64_t> data = globalShape(type);
  ArrayRef<int64_t> indices = globalShape(adaptor.getIndices().getType());
  int64_t axis = adaptor.getAxis(), batch = adaptor.getBatchDims();
  if (failed(checkAxis(axis, data.size(), emitError))) { // C1
    return failure();
  }
  if (batch < 0 || batch > axis ||
      batch > static_cast<int64_t>(indices.size())) { // C2
    return emitError() << "'batch_dims' is " << batch
                       << ", expected 0 to the smaller of axis " << axis
                       << " and the rank " << indices.size() << " of indices";
  }
  if (data.take_front(batch) != indices.take_front(batch)) { // C3
    return emitError() << "data and indices have the shapes [" << data
                       << "] and [" << indices << "], expected the first "
                       << batch << " extents to be equal";
  }
  SmallVector<int64_t> shape(data.take_front(axis));
  llvm::append_range(shape, indices.drop_front(batch));
  llvm::append_range(shape, data.drop_front(axis + 1));
  return makeType(shape, type.getElementType(), emitError);
}

/// The rows of the table are an indexed loop: a shard does those that it holds.
LoopNest GatherOp::getLoopNest() {
  RankedTensorType type = getData().getType();
  int64_t axis = getAxis(), batch = getBatchDims();
  int64_t extra = globalShape(getIndices().getType()).size() - batch;
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  ArrayRef<LoopId> all = loops;
  LoopId row = addIndexed(nest, type, globalShape(type)[axis]);

  SmallVector<LoopId, 4> data(all.take_front(axis));
  data.push_back(row);
  llvm::append_range(data, all.drop_front(axis + extra));
  SmallVector<LoopId, 4> indices(all.take_front(batch));
  llvm::append_range(indices, all.slice(axis, extra));
  nest.operands = {mapLoops(type, data),
                   mapLoops(getIndices().getType(), indices)};
  nest.results = {mapLoops(getY().getType(), loops)};
  addLinear(nest, type, 0);
  return nest;
}

//===- take_along ---------------------------------------------------------===//

FailureOr<RankedTensorType> TakeAlongOp::inferType(Adaptor adaptor,
                                                   EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getData().getType());
  SmallVector<int64_t> data(globalShape(type));
  ArrayRef<int64_t> indices = globalShape(adaptor.getIndices().getType());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(axis, data.size(), emitError))) { // C1
    return failure();
  }
  if (data.size() == indices.size()) {
    data[axis] = indices[axis];
  }
  if (ArrayRef<int64_t>(data) != indices) { // C2
    return emitError() << "data and indices have the shapes ["
                       << globalShape(type) << "] and [" << indices
                       << "], expected the same but for dimension " << axis;
  }
  return makeType(indices, type.getElementType(), emitError);
}

LoopNest TakeAlongOp::getLoopNest() {
  RankedTensorType type = getData().getType();
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  SmallVector<LoopId, 4> data = loops;
  data[getAxis()] = addIndexed(nest, type, globalShape(type)[getAxis()]);
  nest.operands = {mapLoops(type, data),
                   mapLoops(getIndices().getType(), loops)};
  nest.results = {mapLoops(getY().getType(), loops)};
  addLinear(nest, type, 0);
  return nest;
}

//===- insert -------------------------------------------------------------===//

FailureOr<RankedTensorType> InsertOp::inferType(Adaptor adaptor,
                                                EmitError emitError) {
  RankedTensorType type = globalType(adaptor.getX().getType());
  RankedTensorType slice = globalType(adaptor.getSlice().getType());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(axis, type.getRank(), emitError))) { // C1
    return failure();
  }
  SmallVector<int64_t> most(type.getShape()), shape(slice.getShape());
  if (shape.size() == most.size()) {
    shape[axis] = std::max(shape[axis], most[axis]);
  }
  if (shape != most) { // C2
    return emitError() << "inserts a slice of shape [" << slice.getShape()
                       << "] into [" << most << "], expected the same but for "
                       << "less along dimension " << axis;
  }
  ArrayRef<int64_t> offset = globalShape(adaptor.getOffset().getType());
  if (!offset.empty()) { // C3
    return emitError() << "has an offset of shape [" << offset
                       << "], expected a scalar";
  }
  if (slice.getElementType() != type.getElementType()) { // C4
    return emitError() << "inserts elements of type " << slice.getElementType()
                       << " among elements of type " << type.getElementType()
                       << ", expected the same type";
  }
  return type;
}

/// A shard writes what falls on it of the slice, which it has all of.
LoopNest InsertOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  SmallVector<LoopId, 4> slice = loops;
  slice[getAxis()] = nest.add("n", globalShape(getSlice().getType())[getAxis()],
                              LoopKind::Whole);
  nest.operands = {mapLoops(getX().getType(), loops),
                   mapLoops(getSlice().getType(), slice),
                   mapLoops(getOffset().getType(), {})};
  nest.results = {mapLoops(getY().getType(), loops)};
  addLinear(nest, getX().getType(), {0, 1});
  return nest;
}

//===- scatter ------------------------------------------------------------===//

FailureOr<RankedTensorType> ScatterOp::inferType(Adaptor adaptor,
                                                 EmitError emitError) {
  RankedTensorType type = globalType(adaptor.getInit().getType());
  ArrayRef<int64_t> init = type.getShape();
  ArrayRef<int64_t> indices = globalShape(adaptor.getIndices().getType());
  ArrayRef<int64_t> updates = globalShape(adaptor.getUpdates().getType());
  int64_t batch = adaptor.getBatchDims(), rank = type.getRank();
  if (batch < 0 || batch >= rank ||
      batch > static_cast<int64_t>(indices.size())) { // C1
    return emitError() << "'batch_dims' is " << batch
                       << ", expected at least 0, below the rank " << rank
                       << " of init and at most the rank " << indices.size()
                       << " of indices";
  }
  SmallVector<int64_t> expected(indices);
  llvm::append_range(expected, init.drop_front(batch + 1));
  if (init.take_front(batch) != indices.take_front(batch) || // C2
      updates != ArrayRef<int64_t>(expected)) {              // C3
    return emitError() << "init, indices and updates have the shapes [" << init
                       << "], [" << indices << "] and [" << updates
                       << "], expected updates of shape [" << expected
                       << "] and " << batch << " common extents";
  }
  StringRef kind = adaptor.getKind();
  bool isNumber = hasSums(type.getElementType());
  if (kind != "set" && !(isNumber && (kind == "add" || kind == "mul" ||
                                      kind == "max" || kind == "min"))) { // C4
    return emitError() << "'kind' is \"" << kind
                       << "\", expected set, or for numbers add, mul, max or "
                          "min, got elements of type "
                       << type.getElementType();
  }
  Type update = getElementTypeOrSelf(adaptor.getUpdates().getType());
  if (update != type.getElementType()) { // C5
    return emitError() << "puts elements of type " << update
                       << " among elements of type " << type.getElementType()
                       << ", expected the same type";
  }
  return type;
}

/// A shard does those updates that fall on rows which it holds, so that nothing
/// is partial; which they are is seen by looking at all indices.
LoopNest ScatterOp::getLoopNest() {
  LoopNest nest;
  size_t batch = getBatchDims();
  SmallVector<LoopId, 4> all = addLoops(nest, globalShape(getY().getType()));
  ArrayRef<int64_t> indices = globalShape(getIndices().getType());
  ArrayRef<LoopId> loops = all;
  SmallVector<LoopId, 4> chosen(loops.take_front(batch));
  for (size_t dim = batch; dim < indices.size(); ++dim) {
    chosen.push_back(nest.add("i" + std::to_string(dim - batch), indices[dim],
                              LoopKind::Whole));
  }
  SmallVector<LoopId, 4> updates = chosen;
  llvm::append_range(updates, loops.drop_front(batch + 1));
  nest.operands = {mapLoops(getInit().getType(), all),
                   mapLoops(getIndices().getType(), chosen),
                   mapLoops(getUpdates().getType(), updates)};
  nest.results = {mapLoops(getY().getType(), all)};
  if (getKind() == "add") {
    addLinear(nest, getInit().getType(), {0, 2});
  }
  return nest;
}

//===- resample -----------------------------------------------------------===//

FailureOr<RankedTensorType> ResampleOp::inferType(Adaptor adaptor,
                                                  EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  SmallVector<int64_t> shape(globalShape(type));
  int64_t axis = adaptor.getAxis(), taps = adaptor.getTaps();
  if (failed(checkAxis(axis, shape.size(), emitError))) { // C1
    return failure();
  }
  ArrayRef<int64_t> indices = adaptor.getIndices();
  int64_t length = indices.size();
  if (taps < 1 || length % taps != 0 ||
      indices.size() != adaptor.getWeights().size()) { // C2
    return emitError() << "'taps' is " << taps << " for " << length
                       << " indices and " << adaptor.getWeights().size()
                       << " weights, expected a divisor of their common number";
  }
  for (int64_t index : indices) {
    if (index < 0 || index >= shape[axis]) { // C3
      return emitError() << "index " << index << " is outside dimension "
                         << axis << " of extent " << shape[axis];
    }
  }
  shape[axis] = length / taps;
  return makeType(shape, type.getElementType(), emitError);
}

/// The taps of an output are a table of the indices that it reads.
LoopNest ResampleOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  LoopId loop = loops[getAxis()];
  SmallVector<Interval> table;
  for (int64_t o = 0; o < nest.loop(loop).extent; ++o) {
    ArrayRef<int64_t> taps = getIndices().slice(o * getTaps(), getTaps());
    auto [low, high] = std::minmax_element(taps.begin(), taps.end());
    table.push_back({*low, *high + 1});
  }
  TensorMap operand = mapLoops(getX().getType(), loops);
  operand.dims[getAxis()] = DimMap::tabulated(loop, table);
  nest.operands = {operand};
  nest.results = {mapLoops(getY().getType(), loops)};
  nest.linear = {{0}};
  nest.flopsPerPoint = 2.0 * getTaps();
  return nest;
}

} // namespace divisi::nn
