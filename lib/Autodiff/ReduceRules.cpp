//===- ReduceRules.cpp - Gradients of reductions --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// Those of `rank` dims that are not among `axes`.
static SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim != rank; ++dim) {
    if (!llvm::is_contained(axes, dim)) {
      others.push_back(dim);
    }
  }
  return others;
}

/// The largest and smallest share the gradient where there are several.
static Value extremumGradient(nn::ReduceOp op, GradientBuilder &b) {
  Value x = op.getX();
  ArrayRef<int64_t> axes = op.getAxes();
  Value is = b.compare("eq", x, b.insertDims(op.getY(), axes));
  Value count = b.sum(b.cast(is, elementOf(x)), axes);
  Value share = b.div(b.gradient(), count);
  return b.keepWhere(is, b.insertDims(share, axes));
}

/// The product of the elements before and of those behind each, so that zeros
/// divide nothing.
static Value productGradient(nn::ReduceOp op, GradientBuilder &b) {
  SmallVector<int64_t> shape(shapeOf(op.getX()));
  SmallVector<int64_t> order = otherDims(int64_t(shape.size()), op.getAxes());
  SmallVector<int64_t> flat, moved, back(shape.size());
  int64_t count = 1, axis = int64_t(order.size());
  for (int64_t dim : order) {
    flat.push_back(shape[dim]);
  }
  for (int64_t dim : op.getAxes()) {
    order.push_back(dim);
    count *= shape[dim];
  }
  flat.push_back(count);
  for (auto [to, from] : llvm::enumerate(order)) {
    moved.push_back(shape[from]);
    back[from] = int64_t(to);
  }
  Value x = b.reshape(b.transpose(op.getX(), order), flat);
  auto others = [&](bool reverse) {
    return b.emit<nn::CumulateOp>(x, axis, "prod", true, reverse);
  };
  Value slope = b.mul(others(false), others(true));
  Value dx = b.mul(slope, b.insertDims(b.gradient(), {axis}));
  return b.transpose(b.reshape(dx, moved), back);
}

static LogicalResult deriveReduce(nn::ReduceOp op, GradientBuilder &b) {
  SmallVector<int64_t> kept =
      otherDims(int64_t(shapeOf(op.getX()).size()), op.getAxes());
  b.give(0, [&]() -> Value {
    if (op.getKind() == "sum") {
      return b.emit<nn::BroadcastOp>(b.gradient(), shapeOf(op.getX()), kept);
    }
    return op.getKind() == "prod" ? productGradient(op, b)
                                  : extremumGradient(op, b);
  });
  return success();
}

/// Result i lacks element k where k is behind it, and else is a product of the
/// others: all of them in a square of which one side replaces an element by 1.
static Value runningProduct(nn::CumulateOp op, GradientBuilder &b) {
  Value x = op.getX();
  SmallVector<int64_t> shape(shapeOf(x));
  int64_t axis = op.getAxis(), extent = shape[axis];
  shape.insert(shape.begin() + axis, extent);
  auto iota = [&](int64_t dim) {
    auto type = RankedTensorType::get({extent, extent},
                                      IntegerType::get(op.getContext(), 64));
    SmallVector<int64_t> form(shape.size(), 1);
    form[axis] = form[axis + 1] = extent;
    return b.reshape(b.emit<nn::IotaOp>(type, dim), form);
  };
  Value changed = iota(0), place = iota(1);
  Value rows = b.insertDims(x, {axis});
  Value others = b.emit<nn::SelectOp>(b.compare("eq", changed, place),
                                      b.number(1, x), rows);
  Value products = b.emit<nn::CumulateOp>(others, axis + 1, "prod",
                                          op.getExclusive(), op.getReverse());
  StringRef reaches = op.getReverse() ? (op.getExclusive() ? "gt" : "ge")
                                      : (op.getExclusive() ? "lt" : "le");
  Value reached = b.keepWhere(b.compare(reaches, changed, place), products);
  Value all = b.mul(reached, b.insertDims(b.gradient(), {axis}));
  return b.sum(all, {axis + 1});
}

/// A running sum goes back from the other end.
static LogicalResult deriveCumulate(nn::CumulateOp op, GradientBuilder &b) {
  b.give(0, [&]() -> Value {
    return op.getKind() == "sum"
               ? b.emit<nn::CumulateOp>(b.gradient(), op.getAxis(), "sum",
                                        op.getExclusive(), !op.getReverse())
               : runningProduct(op, b);
  });
  return success();
}

void autodiff::attachReduceRules(MLIRContext &context) {
  attach<nn::ReduceOp, deriveReduce>(context);
  attach<nn::CumulateOp, deriveCumulate>(context);
  attachZero<nn::ArgReduceOp, nn::TopKOp>(context);
}
