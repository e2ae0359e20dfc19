//===- NormalizeRules.cpp - Gradients of softmax and norms ----------------===//
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

static LogicalResult deriveSoftmax(nn::SoftmaxOp op, GradientBuilder &b) {
  Value y = op.getY(), dy = b.gradient();
  int64_t axis = op.getAxis();
  b.give(0, [&] {
    if (op.getLog()) {
      return b.sub(dy, b.mul(b.emit<nn::ExpOp>(y), b.sumKept(dy, {axis})));
    }
    return b.mul(y, b.sub(dy, b.sumKept(b.mul(dy, y), {axis})));
  });
  return success();
}

/// 1 / sqrt(variance + epsilon), again.
static Value inverseDeviation(nn::NormalizeOp op, GradientBuilder &b) {
  Value x = op.getX();
  ArrayRef<int64_t> axes = op.getAxes();
  if (op.getCenter()) {
    x = b.sub(x, b.meanKept(x, axes));
  }
  Value variance = b.meanKept(b.square(x), axes);
  return b.emit<nn::RsqrtOp>(b.add(variance, op.getEpsilon()));
}

static LogicalResult deriveNormalize(nn::NormalizeOp op, GradientBuilder &b) {
  Value y = op.getY(), dy = b.gradient();
  ArrayRef<int64_t> axes = op.getAxes();
  b.give(0, [&] {
    Value along = b.mul(y, b.meanKept(b.mul(dy, y), axes));
    Value rest = b.sub(dy, along);
    if (op.getCenter()) {
      rest = b.sub(rest, b.meanKept(dy, axes));
    }
    return b.mul(inverseDeviation(op, b), rest);
  });
  return success();
}

void autodiff::attachNormalizeRules(MLIRContext &context) {
  attach<nn::SoftmaxOp, deriveSoftmax>(context);
  attach<nn::NormalizeOp, deriveNormalize>(context);
}
