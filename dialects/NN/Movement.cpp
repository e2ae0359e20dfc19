//===- Movement.cpp - Operators that only move elements -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Nests.h"
#include "divisi/Support/CheckedMath.h"

#include <numeric>

using namespace mlir;

namespace divisi::nn {

/// Whether `type` has elements of `element` (C1 of reshape and broadcast).
static LogicalResult checkElement(Type operand, RankedTensorType type,
                                  EmitError emitError) {
  Type element = cast<RankedTensorType>(operand).getElementType();
  if (element != type.getElementType()) {
    return emitError() << "turns elements of type " << element << " into "
                       << type.getElementType() << "; use nn.cast";
  }
  return success();
}

//===- reshape ------------------------------------------------------------===//

LogicalResult ReshapeOp::checkType(Adaptor adaptor, RankedTensorType type,
                                   EmitError emitError) {
  RankedTensorType from = globalType(adaptor.getX().getType());
  if (failed(checkElement(from, type, emitError))) { // C1
    return failure();
  }
  if (checkedProduct(from.getShape()) !=
      checkedProduct(type.getShape())) { // C2
    return emitError() << "turns " << from << " into " << type
                       << ", which has another number of elements";
  }
  return success();
}

namespace {
/// Walks operand and result from their major dimensions, splitting off common
/// factors:
///
///   [4, 6] -> [8, 3]: f0=4, f1=2, f2=3; operand (f0)(f1 f2), result (f0
///   f1)(f2)
///
/// The walk stands at the same row-major weight on both sides before each
/// factor, so a factor is the same part of the index in both. Where what is
/// left of the two dimensions has no common factor, both sides go on with loops
/// of their own that are never split, until their weights agree again.
class ReshapeWalk {
public:
  ReshapeWalk(LoopNest &nest, ArrayRef<int64_t> from, ArrayRef<int64_t> to)
      : nest_(nest), from_(from), to_(to) {}

  void run() {
    while (from_.advance() && to_.advance()) {
      int64_t common = std::gcd(from_.rest, to_.rest);
      if (common == 1) {
        passMismatch();
        continue;
      }
      LoopId loop = nest_.add("f" + std::to_string(factors_++), common);
      from_.take(loop, common);
      to_.take(loop, common);
    }
  }

  SmallVector<DimMap, 4> operand() { return from_.maps(); }
  SmallVector<DimMap, 4> result() { return to_.maps(); }

private:
  struct Side {
    explicit Side(ArrayRef<int64_t> shape)
        : shape(shape), loops(shape.size()) {}
    ArrayRef<int64_t> shape;
    SmallVector<SmallVector<LoopId, 2>, 4> loops;
    size_t dim = 0;
    bool begun = false;
    int64_t rest = 1; ///< What is left of the extent of `dim`.

    /// Moves to the next dimension with something left, if there is one.
    bool advance() {
      while (rest == 1) {
        dim += begun ? 1 : 0;
        if (dim >= shape.size()) {
          return false;
        }
        begun = true;
        rest = shape[dim];
      }
      return true;
    }
    void take(LoopId loop, int64_t factor) {
      loops[dim].push_back(loop);
      rest /= factor;
    }
    SmallVector<DimMap, 4> maps() const {
      SmallVector<DimMap, 4> result;
      for (const SmallVector<LoopId, 2> &dimLoops : loops) {
        result.push_back(DimMap::product(dimLoops));
      }
      return result;
    }
  };

  /// Takes all that is left of `side`'s dimension as one whole loop.
  int64_t takeWhole(Side &side) {
    int64_t extent = side.rest;
    side.take(
        nest_.add("w" + std::to_string(wholes_++), extent, LoopKind::Whole),
        extent);
    return extent;
  }

  void passMismatch() {
    int64_t from = takeWhole(from_), to = takeWhole(to_);
    while (from != to) {
      Side &behind = from < to ? from_ : to_;
      int64_t &passed = from < to ? from : to;
      if (!behind.advance()) {
        return;
      }
      passed *= takeWhole(behind);
    }
  }

  LoopNest &nest_;
  Side from_, to_;
  int factors_ = 0, wholes_ = 0;
};
} // namespace

LoopNest ReshapeOp::getLoopNest() {
  LoopNest nest;
  TensorMap operand = mapLoops(getX().getType(), {});
  TensorMap result = mapLoops(getY().getType(), {});
  if (checkedProduct(operand.shape) == 0) {
    // Nothing to split; any map is right.
    operand.dims.resize(operand.shape.size());
    result.dims.resize(result.shape.size());
  } else {
    ReshapeWalk walk(nest, operand.shape, result.shape);
    walk.run();
    operand.dims = walk.operand();
    result.dims = walk.result();
  }
  nest.operands = {operand};
  nest.results = {result};
  addLinear(nest, getX().getType(), 0);
  return nest;
}

//===- transpose ----------------------------------------------------------===//

FailureOr<RankedTensorType> TransposeOp::inferType(Adaptor adaptor,
                                                   EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> x = globalShape(type);
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  auto identity = llvm::to_vector(llvm::seq<int64_t>(x.size()));
  if (sorted != identity) { // C1
    return emitError() << "'permutation' is [" << permutation
                       << "], expected every dimension below " << x.size()
                       << " once";
  }
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation) {
    shape.push_back(x[dim]);
  }
  return makeType(shape, type.getElementType(), emitError);
}

LoopNest TransposeOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  SmallVector<LoopId, 4> operand(loops.size());
  for (auto [dim, from] : llvm::enumerate(getPermutation())) {
    operand[from] = loops[dim];
  }
  nest.operands = {mapLoops(getX().getType(), operand)};
  nest.results = {mapLoops(getY().getType(), loops)};
  addLinear(nest, getX().getType(), 0);
  return nest;
}

//===- broadcast ----------------------------------------------------------===//

LogicalResult BroadcastOp::checkType(Adaptor adaptor, RankedTensorType type,
                                     EmitError emitError) {
  ArrayRef<int64_t> x = globalShape(adaptor.getX().getType());
  ArrayRef<int64_t> dims = adaptor.getDims();
  if (failed(checkElement(adaptor.getX().getType(), type, emitError)) || // C1
      failed(checkLength("dims", dims, x.size(), emitError)) ||          // C2
      failed(checkAxes(dims, type.getRank(), "dims", emitError))) {      // C2
    return failure();
  }
  for (auto [extent, dim] : llvm::zip_equal(x, dims)) {
    if (extent != 1 && extent != type.getDimSize(dim)) { // C3
      return emitError() << "turns extent " << extent << " into extent "
                         << type.getDimSize(dim) << " in dimension " << dim
                         << ", expected extent 1 or the same";
    }
  }
  return success();
}

LoopNest BroadcastOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  TensorMap operand = mapLoops(getX().getType(), {});
  for (auto [extent, dim] : llvm::zip_equal(operand.shape, getDims())) {
    bool repeated = extent != nest.loop(loops[dim]).extent;
    operand.dims.push_back(repeated ? DimMap::none()
                                    : DimMap::loop(loops[dim]));
  }
  nest.operands = {operand};
  nest.results = {mapLoops(getY().getType(), loops)};
  addLinear(nest, getX().getType(), 0);
  return nest;
}

//===- slice --------------------------------------------------------------===//

/// Whether the slice stays inside a dimension of `extent` (C3).
static bool isInside(int64_t start, int64_t limit, int64_t step,
                     int64_t extent) {
  return step > 0 ? 0 <= start && start <= limit && limit <= extent
                  : -1 <= limit && limit <= start && start < extent;
}

FailureOr<RankedTensorType> SliceOp::inferType(Adaptor adaptor,
                                               EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> x = globalShape(type);
  ArrayRef<int64_t> starts = adaptor.getStarts(), limits = adaptor.getLimits();
  ArrayRef<int64_t> steps = adaptor.getSteps();
  if (failed(checkLength("starts", starts, x.size(), emitError)) || // C1
      failed(checkLength("limits", limits, x.size(), emitError)) ||
      failed(checkLength("steps", steps, x.size(), emitError))) {
    return failure();
  }
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(x)) {
    int64_t start = starts[dim], limit = limits[dim], step = steps[dim];
    if (step == 0) { // C2
      return emitError() << "the step in dimension " << dim
                         << " is 0, expected another number";
    }
    if (!isInside(start, limit, step, extent)) { // C3
      return emitError() << "a slice from " << start << " to " << limit
                         << " by " << step << " leaves dimension " << dim
                         << " of extent " << extent;
    }
    // Never negates the step: that of INT64_MIN would overflow.
    int64_t last = step > 0 ? limit - start - 1 : limit - start + 1;
    shape.push_back(start == limit ? 0 : last / step + 1);
  }
  return makeType(shape, type.getElementType(), emitError);
}

LoopNest SliceOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  TensorMap operand = mapLoops(getX().getType(), {});
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    operand.dims.push_back(windowMap(nest, loop, operand.shape[dim],
                                     getSteps()[dim], -getStarts()[dim], 0));
  }
  nest.operands = {operand};
  nest.results = {mapLoops(getY().getType(), loops)};
  addLinear(nest, getX().getType(), 0);
  return nest;
}

//===- pad ----------------------------------------------------------------===//

FailureOr<RankedTensorType> PadOp::inferType(Adaptor adaptor,
                                             EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> x = globalShape(type);
  ArrayRef<int64_t> lo = adaptor.getLo(), hi = adaptor.getHi();
  if (failed(checkLength("lo", lo, x.size(), emitError)) || // C1
      failed(checkLength("hi", hi, x.size(), emitError))) {
    return failure();
  }
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(x)) {
    std::optional<int64_t> padded = checkedAdd(extent, lo[dim]);
    padded = padded ? checkedAdd(*padded, hi[dim]) : padded;
    if (!padded || *padded < 0) { // C2
      return emitError() << "padding extent " << extent << " of dimension "
                         << dim << " by " << lo[dim] << " and " << hi[dim]
                         << " leaves no legal extent";
    }
    shape.push_back(*padded);
  }
  return makeType(shape, type.getElementType(), emitError);
}

/// A window of one index shifted by `lo`; what it misses is the border.
LoopNest PadOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  TensorMap operand = mapLoops(getX().getType(), {});
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    operand.dims.push_back(
        windowMap(nest, loop, operand.shape[dim], 1, getLo()[dim], 0));
  }
  nest.operands = {operand};
  nest.results = {mapLoops(getY().getType(), loops)};
  if (getValue() == 0) {
    addLinear(nest, getX().getType(), 0);
  }
  return nest;
}

//===- concat -------------------------------------------------------------===//

/// The common shape of operands but for `axis`; there it is their sum.
static FailureOr<SmallVector<int64_t>> concatShape(ValueRange xs, int64_t axis,
                                                   EmitError emitError) {
  SmallVector<int64_t> shape(globalShape(xs.front().getType()));
  for (Value x : xs.drop_front()) {
    SmallVector<int64_t> own(globalShape(x.getType()));
    std::optional<int64_t> sum;
    if (own.size() == shape.size()) {
      sum = checkedAdd(shape[axis], own[axis]);
      own[axis] = shape[axis];
    }
    if (own != shape) { // C3
      return emitError() << "joins " << globalType(xs.front().getType())
                         << " and " << globalType(x.getType())
                         << ", expected the same shape but for dimension "
                         << axis;
    }
    if (!sum) {
      return emitError() << "the operands together are longer than an int64";
    }
    shape[axis] = *sum;
  }
  return shape;
}

FailureOr<RankedTensorType> ConcatOp::inferType(Adaptor adaptor,
                                                EmitError emitError) {
  ValueRange xs = adaptor.getXs();
  if (xs.empty()) { // C1
    return emitError() << "joins nothing, expected at least one operand";
  }
  auto type = cast<RankedTensorType>(xs.front().getType());
  for (Value x : xs) {
    if (failed(checkElement(x.getType(), type, emitError))) { // C1
      return failure();
    }
  }
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(axis, type.getRank(), emitError))) { // C2
    return failure();
  }
  FailureOr<SmallVector<int64_t>> shape = concatShape(xs, axis, emitError);
  if (failed(shape)) {
    return failure();
  }
  return makeType(*shape, type.getElementType(), emitError);
}

/// Each operand is a window on the joined dimension, shifted by what is before.
LoopNest ConcatOp::getLoopNest() {
  LoopNest nest;
  SmallVector<LoopId, 4> loops = addLoops(nest, globalShape(getY().getType()));
  int64_t offset = 0;
  for (Value x : getXs()) {
    TensorMap operand = mapLoops(x.getType(), loops);
    LoopId loop = loops[getAxis()];
    int64_t extent = operand.shape[getAxis()];
    operand.dims[getAxis()] = windowMap(nest, loop, extent, 1, offset, 0);
    offset += extent;
    nest.operands.push_back(operand);
  }
  nest.results = {mapLoops(getY().getType(), loops)};
  addLinear(nest, getY().getType(),
            llvm::to_vector(llvm::seq<unsigned>(getXs().size())));
  return nest;
}

} // namespace divisi::nn
