//===- Window.cpp - Operators on sliding windows --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Integer.h"
#include "dialects/NN/Nests.h"
#include "divisi/Support/CheckedMath.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace divisi::nn {

namespace {
/// How windows lie along one dimension.
struct Window {
  int64_t kernel, stride, dilation, lo, hi;
};
} // namespace

/// The number of windows along a dimension of `extent`, or an error if the
/// window does not fit into it. All of `window` has been checked for sign.
static FailureOr<int64_t> countWindows(int64_t extent, Window window,
                                       size_t dim, EmitError emitError) {
  std::optional<int64_t> reach = checkedMul(window.kernel - 1, window.dilation);
  std::optional<int64_t> pads = checkedAdd(window.lo, window.hi);
  std::optional<int64_t> padded = pads ? checkedAdd(extent, *pads) : pads;
  if (!reach || !padded || *reach >= *padded) {
    return emitError() << "a window of " << window.kernel
                       << " elements with dilation " << window.dilation
                       << " does not fit into dimension " << dim
                       << " of extent " << extent << " with pads " << window.lo
                       << " and " << window.hi;
  }
  return (*padded - *reach - 1) / window.stride + 1;
}

static LogicalResult checkPositive(StringRef name, ArrayRef<int64_t> values,
                                   EmitError emitError) {
  for (int64_t value : values) {
    if (value < 1) {
      return emitError() << "'" << name << "' holds " << value
                         << ", expected positive numbers";
    }
  }
  return success();
}

static LogicalResult checkNotNegative(StringRef name, ArrayRef<int64_t> values,
                                      EmitError emitError) {
  for (int64_t value : values) {
    if (value < 0) {
      return emitError() << "'" << name << "' holds " << value
                         << "; use nn.pad or nn.slice to crop";
    }
  }
  return success();
}

/// What convolution and pooling check of their common attributes.
template <typename Adaptor>
static LogicalResult checkWindowAttributes(Adaptor adaptor, int64_t rank,
                                           EmitError emitError) {
  auto strides = adaptor.getStrides(), dilations = adaptor.getDilations();
  auto lo = adaptor.getPadsLo(), hi = adaptor.getPadsHi();
  return success(
      succeeded(checkLength("strides", strides, rank, emitError)) &&
      succeeded(checkLength("dilations", dilations, rank, emitError)) &&
      succeeded(checkLength("pads_lo", lo, rank, emitError)) &&
      succeeded(checkLength("pads_hi", hi, rank, emitError)) &&
      succeeded(checkPositive("strides", strides, emitError)) &&
      succeeded(checkPositive("dilations", dilations, emitError)) &&
      succeeded(checkNotNegative("pads_lo", lo, emitError)) &&
      succeeded(checkNotNegative("pads_hi", hi, emitError)));
}

//===- conv ---------------------------------------------------------------===//

/// Groups and features (C5, C6).
static LogicalResult checkGroups(ArrayRef<int64_t> x, ArrayRef<int64_t> w,
                                 int64_t groups, EmitError emitError) {
  if (groups < 1 || x[1] % groups != 0 || w[0] % groups != 0) { // C5
    return emitError() << "'groups' is " << groups << ", expected a divisor of "
                       << x[1] << " input and " << w[0] << " output features";
  }
  if (w[1] != x[1] / groups) { // C6
    return emitError() << "the weight takes " << w[1]
                       << " features a group, but the input has "
                       << x[1] / groups;
  }
  return success();
}

/// The result's shape (C1 to C7 of nn.conv).
template <typename Adaptor>
static FailureOr<SmallVector<int64_t>> inferConvShape(Adaptor adaptor,
                                                      EmitError emitError) {
  ArrayRef<int64_t> x = globalShape(adaptor.getX().getType());
  ArrayRef<int64_t> w = globalShape(adaptor.getW().getType());
  if (x.size() < 2 || x.size() != w.size()) { // C1
    return emitError() << "input and weight have ranks " << x.size() << " and "
                       << w.size() << ", expected the same, at least 2";
  }
  if (failed(checkWindowAttributes(adaptor, x.size() - 2, // C2 C3 C4
                                   emitError)) ||
      failed(checkGroups(x, w, adaptor.getGroups(), emitError))) {
    return failure();
  }
  SmallVector<int64_t> shape = {x[0], w[0]};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    if (w[i + 2] < 1) { // C7
      return emitError() << "the weight's window is empty in dimension "
                         << i + 2;
    }
    Window window = {w[i + 2], adaptor.getStrides()[i],
                     adaptor.getDilations()[i], adaptor.getPadsLo()[i],
                     adaptor.getPadsHi()[i]};
    FailureOr<int64_t> count = // C7
        countWindows(x[i + 2], window, i + 2, emitError);
    if (failed(count)) {
      return failure();
    }
    shape.push_back(*count);
  }
  return shape;
}

FailureOr<RankedTensorType> ConvOp::inferType(Adaptor adaptor,
                                              EmitError emitError) {
  FailureOr<SmallVector<int64_t>> shape = inferConvShape(adaptor, emitError);
  if (failed(shape)) {
    return failure();
  }
  return makeType(*shape, getElementTypeOrSelf(adaptor.getX().getType()),
                  emitError);
}

FailureOr<RankedTensorType> ConvIntegerOp::inferType(Adaptor adaptor,
                                                     EmitError emitError) {
  FailureOr<SmallVector<int64_t>> shape = inferConvShape(adaptor, emitError);
  if (failed(shape) || // C1
      failed(checkZeroPoint("x_zero", adaptor.getXZero(), // C2
                            adaptor.getX().getType(), emitError)) ||
      failed(checkZeroPoint("w_zero", adaptor.getWZero(), // C2
                            adaptor.getW().getType(), emitError))) {
    return failure();
  }
  auto i32 = IntegerType::get(adaptor.getX().getContext(), 32);
  return makeType(*shape, i32, emitError);
}

template <typename OpT> static LoopNest convNest(OpT op) {
  ArrayRef<int64_t> x = globalShape(op.getX().getType());
  ArrayRef<int64_t> w = globalShape(op.getW().getType());
  ArrayRef<int64_t> y = globalShape(op.getY().getType());
  int64_t groups = op.getGroups();
  LoopNest nest;
  LoopId n = nest.add("n", x[0]);
  // Without groups their loop would stand before m and c for nothing.
  SmallVector<LoopId, 2> inFeatures, outFeatures;
  if (groups != 1) {
    inFeatures = outFeatures = {nest.add("g", groups)};
  }
  outFeatures.push_back(nest.add("m", w[0] / groups));
  LoopId c = nest.add("c", w[1], LoopKind::Reduction);
  inFeatures.push_back(c);

  TensorMap input = mapLoops(op.getX().getType(), n);
  TensorMap weight = mapLoops(op.getW().getType(), {});
  TensorMap result = mapLoops(op.getY().getType(), n);
  input.dims.push_back(DimMap::product(inFeatures));
  weight.dims = {DimMap::product(outFeatures), DimMap::loop(c)};
  result.dims.push_back(DimMap::product(outFeatures));
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    LoopId o = nest.add("o" + std::to_string(i), y[i + 2]);
    LoopId k = nest.add("k" + std::to_string(i), w[i + 2], LoopKind::Whole);
    input.dims.push_back(windowMap(nest, o, x[i + 2], op.getStrides()[i],
                                   op.getPadsLo()[i],
                                   (w[i + 2] - 1) * op.getDilations()[i]));
    weight.dims.push_back(DimMap::loop(k));
    result.dims.push_back(DimMap::loop(o));
  }
  nest.operands = {input, weight};
  nest.results = {result};
  nest.linear = {{0}, {1}};
  nest.flopsPerPoint = 2;
  return nest;
}

LoopNest ConvOp::getLoopNest() { return convNest(*this); }

LoopNest ConvIntegerOp::getLoopNest() {
  LoopNest nest = convNest(*this);
  // What is left of a sum of numbers has lost its zero points.
  nest.linear.clear();
  return nest;
}

//===- conv_dgrad ---------------------------------------------------------===//

FailureOr<RankedTensorType> ConvDgradOp::inferType(Adaptor adaptor,
                                                   EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getDy().getType());
  ArrayRef<int64_t> dy = globalShape(type);
  ArrayRef<int64_t> w = globalShape(adaptor.getW().getType());
  if (dy.size() < 2 || dy.size() != w.size()) { // C1
    return emitError() << "gradient and weight have ranks " << dy.size()
                       << " and " << w.size()
                       << ", expected the same, at least 2";
  }
  int64_t rank = dy.size() - 2;
  ArrayRef<int64_t> extents = adaptor.getExtents();
  if (failed(checkLength("strides", adaptor.getStrides(), rank, // C2
                         emitError)) ||
      failed(
          checkLength("dilations", adaptor.getDilations(), rank, emitError)) ||
      failed(checkLength("pads_lo", adaptor.getPadsLo(), rank, emitError)) ||
      failed(checkLength("extents", extents, rank, emitError)) ||
      failed(checkPositive("strides", adaptor.getStrides(), // C3
                           emitError)) ||
      failed(checkPositive("dilations", adaptor.getDilations(), emitError)) ||
      failed(checkNotNegative("pads_lo", adaptor.getPadsLo(), // C4
                              emitError)) ||
      failed(checkNotNegative("extents", extents, emitError))) {
    return failure();
  }
  int64_t groups = adaptor.getGroups();
  if (groups < 1 || dy[1] != w[0] || w[0] % groups != 0) { // C5
    return emitError() << "'groups' is " << groups
                       << ", expected a divisor of the features of gradient "
                       << "and weight, " << dy[1] << " and " << w[0];
  }
  std::optional<int64_t> channels = checkedMul(w[1], groups);
  SmallVector<int64_t> shape = {dy[0], channels.value_or(INT64_MAX)};
  llvm::append_range(shape, extents);
  return makeType(shape, type.getElementType(), emitError);
}

/// The indices o below `extent` with i = o*stride + k*dilation - lo for some
/// tap k.
static Interval gradientReach(int64_t i, Window window, int64_t extent) {
  // A window that attributes make larger than an int64 reaches all.
  int64_t reach =
      checkedMul(window.kernel - 1, window.dilation).value_or(INT64_MAX);
  int64_t last = checkedAdd(i, window.lo).value_or(INT64_MAX);
  int64_t begin = reach >= last ? 0 : (last - reach - 1) / window.stride + 1;
  return intersect({begin, last / window.stride + 1}, {0, extent});
}

LoopNest ConvDgradOp::getLoopNest() {
  ArrayRef<int64_t> dy = globalShape(getDy().getType());
  ArrayRef<int64_t> w = globalShape(getW().getType());
  ArrayRef<int64_t> dx = globalShape(getDx().getType());
  int64_t groups = getGroups();
  LoopNest nest;
  LoopId n = nest.add("n", dy[0]);
  SmallVector<LoopId, 2> inFeatures, outFeatures;
  if (groups != 1) {
    inFeatures = outFeatures = {nest.add("g", groups)};
  }
  inFeatures.push_back(nest.add("m", w[0] / groups, LoopKind::Reduction));
  LoopId c = nest.add("c", w[1]);
  outFeatures.push_back(c);

  TensorMap gradient = mapLoops(getDy().getType(), n);
  TensorMap weight = mapLoops(getW().getType(), {});
  TensorMap result = mapLoops(getDx().getType(), n);
  gradient.dims.push_back(DimMap::product(inFeatures));
  weight.dims = {DimMap::product(inFeatures), DimMap::loop(c)};
  result.dims.push_back(DimMap::product(outFeatures));
  double perPoint = 2;
  for (size_t d = 0; d + 2 < dx.size(); ++d) {
    int64_t extent = dx[d + 2], taps = w[d + 2];
    LoopId i = nest.add("i" + std::to_string(d), extent);
    LoopId k = nest.add("k" + std::to_string(d), taps, LoopKind::Whole);
    Window window = {std::max<int64_t>(taps, 1), getStrides()[d],
                     getDilations()[d], getPadsLo()[d], /*hi=*/0};
    gradient.dims.push_back(tableMap(nest, i, [&](int64_t index) {
      return gradientReach(index, window, dy[d + 2]);
    }));
    weight.dims.push_back(DimMap::loop(k));
    result.dims.push_back(DimMap::loop(i));
    perPoint /= double(getStrides()[d]);
  }
  nest.operands = {gradient, weight};
  nest.results = {result};
  nest.linear = {{0}, {1}};
  // One tap in as many as the stride meets an index.
  nest.flopsPerPoint = perPoint;
  return nest;
}

//===- pool_max, pool_sum -------------------------------------------------===//

template <typename Adaptor>
static FailureOr<RankedTensorType> inferPool(Adaptor adaptor,
                                             EmitError emitError) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  ArrayRef<int64_t> x = globalShape(type);
  if (failed(checkLength("kernel", adaptor.getKernel(), x.size(), // C1
                         emitError)) ||
      failed(checkPositive("kernel", adaptor.getKernel(), emitError)) || // C2
      failed(checkWindowAttributes(adaptor, x.size(), // C1 C2 C3
                                   emitError))) {
    return failure();
  }
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(x)) {
    Window window = {adaptor.getKernel()[dim], adaptor.getStrides()[dim],
                     adaptor.getDilations()[dim], adaptor.getPadsLo()[dim],
                     adaptor.getPadsHi()[dim]};
    bool untouched = window.kernel == 1 && window.stride == 1 &&
                     window.lo == 0 && window.hi == 0;
    FailureOr<int64_t> count = // C4
        untouched ? extent : countWindows(extent, window, dim, emitError);
    if (failed(count)) {
      return failure();
    }
    shape.push_back(*count);
  }
  return makeType(shape, type.getElementType(), emitError);
}

template <typename OpT> static LoopNest poolNest(OpT op) {
  LoopNest nest;
  SmallVector<LoopId, 4> loops =
      addLoops(nest, globalShape(op.getY().getType()));
  TensorMap input = mapLoops(op.getX().getType(), {});
  for (auto [dim, loop] : llvm::enumerate(loops)) {
    int64_t kernel = op.getKernel()[dim];
    if (kernel != 1) {
      nest.add("k" + std::to_string(dim), kernel, LoopKind::Whole);
    }
    input.dims.push_back(windowMap(nest, loop, input.shape[dim],
                                   op.getStrides()[dim], op.getPadsLo()[dim],
                                   (kernel - 1) * op.getDilations()[dim]));
  }
  nest.operands = {input};
  nest.results = {mapLoops(op.getY().getType(), loops)};
  nest.flopsPerPoint = 1;
  return nest;
}

FailureOr<RankedTensorType> PoolMaxOp::inferType(Adaptor adaptor,
                                                 EmitError emitError) {
  return inferPool(adaptor, emitError);
}

LoopNest PoolMaxOp::getLoopNest() { return poolNest(*this); }

FailureOr<RankedTensorType> PoolSumOp::inferType(Adaptor adaptor,
                                                 EmitError emitError) {
  return inferPool(adaptor, emitError);
}

LoopNest PoolSumOp::getLoopNest() {
  LoopNest nest = poolNest(*this);
  nest.linear = {{0}};
  return nest;
}

} // namespace divisi::nn
