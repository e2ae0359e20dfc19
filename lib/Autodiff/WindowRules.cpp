//===- WindowRules.cpp - Gradients of convolutions and pools --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// All three gradients of one dim read i = o*stride + k*dilation - lo:
//
//   y[o]  = sum over k of x[i] * w[k]       nn.conv
//   dx[i] = sum over k of dy[o] * w[k]      nn.conv_dgrad
//   dw[k] = sum over o of x[i] * dy[o]      nn.conv, dy being the window, whose
//                                           dilation is the stride
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

namespace {
/// The attributes that convolutions share.
struct Windows {
  SmallVector<int64_t> strides, dilations, lo;
  int64_t groups;
};
} // namespace

/// Those behind the first two.
static ArrayRef<int64_t> spatial(Value value) {
  return shapeOf(value).drop_front(2);
}

/// The convolution with results of those extents: what lies behind them in `x`
/// is cropped, or padded.
static Value convolve(GradientBuilder &b, Value x, Value w, const Windows &at,
                      ArrayRef<int64_t> extents) {
  SmallVector<int64_t> hi, none(shapeOf(x).size()), crop(shapeOf(x).size());
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    int64_t reach = (extent - 1) * at.strides[dim] +
                    (spatial(w)[dim] - 1) * at.dilations[dim] + 1;
    int64_t more = reach - spatial(x)[dim] - at.lo[dim];
    hi.push_back(std::max<int64_t>(more, 0));
    crop[dim + 2] = std::min<int64_t>(more, 0);
  }
  return b.emit<nn::ConvOp>(b.pad(x, none, crop), w, at.strides, at.dilations,
                            at.lo, hi, at.groups);
}

/// Dims 0 and 1 of [(g a), b, …] as [b, (g a), …], where `groups` stand in the
/// first, or of [b, (g a), …] as [a, (g b), …], where they stand in the second.
static Value swapLeading(GradientBuilder &b, Value x, int64_t groups) {
  SmallVector<int64_t> shape(shapeOf(x)), order;
  shape[1] /= groups;
  shape.insert(shape.begin() + 1, groups);
  order = {2, 1, 0};
  for (int64_t dim = 3; dim < int64_t(shape.size()); ++dim) {
    order.push_back(dim);
  }
  Value moved = b.transpose(b.reshape(x, shape), order);
  SmallVector<int64_t> merged(shapeOf(moved));
  merged[1] *= merged[2];
  merged.erase(merged.begin() + 2);
  return b.reshape(moved, merged);
}

/// Of windows that are single elements without padding, what lies between the
/// strides is read by none: takes it away, and the strides.
static Value withoutStrides(GradientBuilder &b, Value x, Value dy, Value w,
                            Windows &at) {
  bool isPoint = llvm::all_of(spatial(w), [](int64_t k) { return k == 1; }) &&
                 llvm::all_of(at.lo, [](int64_t lo) { return lo == 0; }) &&
                 llvm::any_of(at.strides, [](int64_t s) { return s != 1; });
  SmallVector<int64_t> limits(shapeOf(x)), starts(limits.size());
  SmallVector<int64_t> steps(limits.size(), 1);
  for (auto [dim, extent] : llvm::enumerate(spatial(dy))) {
    steps[dim + 2] = at.strides[dim];
    limits[dim + 2] = (extent - 1) * at.strides[dim] + 1;
    isPoint &= extent > 0 && limits[dim + 2] <= spatial(x)[dim];
  }
  if (!isPoint) {
    return x;
  }
  at.strides.assign(at.strides.size(), 1);
  return b.emit<nn::SliceOp>(x, starts, limits, steps);
}

/// The gradient by the weights: images are summed as channels are by a
/// convolution, and channels kept as images are.
static Value weightGradient(GradientBuilder &b, Value x, Value dy, Value w,
                            Windows at) {
  x = withoutStrides(b, x, dy, w, at);
  Windows back{at.dilations, at.strides, at.lo, at.groups};
  SmallVector<int64_t> order(shapeOf(dy).size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  Value dw = convolve(b, swapLeading(b, x, at.groups), b.transpose(dy, order),
                      back, spatial(w));
  return b.transpose(dw, order);
}

template <typename OpT> static Windows windowsOf(OpT op) {
  return {SmallVector<int64_t>(op.getStrides()),
          SmallVector<int64_t>(op.getDilations()),
          SmallVector<int64_t>(op.getPadsLo()), op.getGroups()};
}

static LogicalResult deriveConv(nn::ConvOp op, GradientBuilder &b) {
  Value x = op.getX(), w = op.getW();
  Value dy = b.cast(b.gradient(), elementOf(x));
  Windows at = windowsOf(op);
  b.give(0, [&] {
    return b.emit<nn::ConvDgradOp>(dy, w, at.strides, at.dilations, at.lo,
                                   spatial(x), at.groups);
  });
  b.give(1, [&] { return weightGradient(b, x, dy, w, at); });
  return success();
}

/// The gradient by a transposed convolution's operand is a convolution.
static LogicalResult deriveConvDgrad(nn::ConvDgradOp op, GradientBuilder &b) {
  Value dy = op.getDy(), w = op.getW();
  Value g = b.cast(b.gradient(), elementOf(dy));
  Windows at = windowsOf(op);
  b.give(0, [&] { return convolve(b, g, w, at, spatial(dy)); });
  b.give(1, [&] { return weightGradient(b, g, dy, w, at); });
  return success();
}

/// A sum of windows of what stands at the strides' multiples between zeros.
static LogicalResult derivePoolSum(nn::PoolSumOp op, GradientBuilder &b) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  SmallVector<int64_t> none(x.size()), ones(x.size(), 1), lo, hi, cropLo,
      cropHi, spread;
  for (size_t dim = 0; dim != x.size(); ++dim) {
    int64_t extent = y[dim] == 0 ? 0 : (y[dim] - 1) * op.getStrides()[dim] + 1;
    int64_t reach = (op.getKernel()[dim] - 1) * op.getDilations()[dim];
    int64_t before = reach - op.getPadsLo()[dim];
    int64_t behind = x[dim] - extent + op.getPadsLo()[dim];
    spread.push_back(extent);
    lo.push_back(std::max<int64_t>(before, 0));
    hi.push_back(std::max<int64_t>(behind, 0));
    cropLo.push_back(std::min<int64_t>(before, 0));
    cropHi.push_back(std::min<int64_t>(behind, 0));
  }
  b.give(0, [&] {
    Value dy = b.unslice(b.gradient(), none, op.getStrides(), spread);
    return b.emit<nn::PoolSumOp>(b.pad(dy, cropLo, cropHi), op.getKernel(),
                                 ones, op.getDilations(), lo, hi);
  });
  return success();
}

/// Moves `tap` to the next place in a window, the last dim first; false behind
/// the last one.
static bool advance(SmallVector<int64_t> &tap, ArrayRef<int64_t> kernel) {
  for (size_t dim = tap.size(); dim-- != 0;) {
    if (++tap[dim] != kernel[dim]) {
      return true;
    }
    tap[dim] = 0;
  }
  return false;
}

/// The gradient goes to the first largest of a window, one tap of all windows
/// after the other.
static Value poolMaxGradient(nn::PoolMaxOp op, GradientBuilder &b) {
  ArrayRef<int64_t> y = shapeOf(op.getY()), kernel = op.getKernel();
  Value x = b.pad(op.getX(), op.getPadsLo(), op.getPadsHi(), -INFINITY);
  SmallVector<int64_t> tap(y.size()), padded(shapeOf(x)), lo, hi;
  Value sum, left;
  do {
    SmallVector<int64_t> starts, limits;
    for (size_t dim = 0; dim != y.size(); ++dim) {
      starts.push_back(tap[dim] * op.getDilations()[dim]);
      int64_t extent =
          y[dim] == 0 ? 0 : (y[dim] - 1) * op.getStrides()[dim] + 1;
      limits.push_back(starts.back() + extent);
    }
    Value here = b.emit<nn::SliceOp>(x, starts, limits, op.getStrides());
    Value is = b.compare("eq", here, op.getY());
    Value taken = left ? b.emit<nn::AndOp>(is, left) : is;
    Value isNot = b.emit<nn::NotOp>(is);
    left = left ? b.emit<nn::AndOp>(left, isNot) : isNot;
    Value part = b.unslice(b.keepWhere(taken, b.gradient()), starts,
                           op.getStrides(), padded);
    sum = sum ? b.add(sum, part) : part;
  } while (advance(tap, kernel));
  for (size_t dim = 0; dim != y.size(); ++dim) {
    lo.push_back(-op.getPadsLo()[dim]);
    hi.push_back(-op.getPadsHi()[dim]);
  }
  return b.pad(sum, lo, hi);
}

static LogicalResult derivePoolMax(nn::PoolMaxOp op, GradientBuilder &b) {
  b.give(0, [&] { return poolMaxGradient(op, b); });
  return success();
}

void autodiff::attachWindowRules(MLIRContext &context) {
  attach<nn::ConvOp, deriveConv>(context);
  attach<nn::ConvDgradOp, deriveConvDgrad>(context);
  attach<nn::PoolSumOp, derivePoolSum>(context);
  attach<nn::PoolMaxOp, derivePoolMax>(context);
}
