//===- MovementRules.cpp - Gradients of what moves elements ---------------===//
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

static LogicalResult deriveReshape(nn::ReshapeOp op, GradientBuilder &b) {
  b.give(0, [&] { return b.reshape(b.gradient(), shapeOf(op.getX())); });
  return success();
}

static LogicalResult deriveTranspose(nn::TransposeOp op, GradientBuilder &b) {
  SmallVector<int64_t> back(op.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation())) {
    back[from] = int64_t(to);
  }
  b.give(0, [&] { return b.transpose(b.gradient(), back); });
  return success();
}

static LogicalResult deriveBroadcast(nn::BroadcastOp op, GradientBuilder &b) {
  ArrayRef<int64_t> to = shapeOf(op.getY()), from = shapeOf(op.getX());
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim != int64_t(to.size()); ++dim) {
    const auto *at = llvm::find(op.getDims(), dim);
    bool isRepeated =
        at == op.getDims().end() || from[at - op.getDims().begin()] != to[dim];
    if (isRepeated) {
      repeated.push_back(dim);
    }
  }
  b.give(0, [&] { return b.reshape(b.sum(b.gradient(), repeated), from); });
  return success();
}

static LogicalResult deriveSlice(nn::SliceOp op, GradientBuilder &b) {
  b.give(0, [&] {
    return b.unslice(b.gradient(), op.getStarts(), op.getSteps(),
                     shapeOf(op.getX()));
  });
  return success();
}

/// What was cropped did not count, what was added does not matter.
static LogicalResult derivePad(nn::PadOp op, GradientBuilder &b) {
  auto negated = [](ArrayRef<int64_t> widths) {
    SmallVector<int64_t> result;
    for (int64_t width : widths) {
      result.push_back(-width);
    }
    return result;
  };
  b.give(0, [&] {
    return b.pad(b.gradient(), negated(op.getLo()), negated(op.getHi()));
  });
  return success();
}

static LogicalResult deriveConcat(nn::ConcatOp op, GradientBuilder &b) {
  SmallVector<int64_t> starts(shapeOf(op.getY()).size());
  SmallVector<int64_t> limits(shapeOf(op.getY())), steps(starts.size(), 1);
  int64_t axis = op.getAxis();
  for (auto [i, x] : llvm::enumerate(op.getXs())) {
    limits[axis] = starts[axis] + shapeOf(x)[axis];
    b.give(unsigned(i), [&] {
      return b.emit<nn::SliceOp>(b.gradient(), starts, limits, steps);
    });
    starts[axis] = limits[axis];
  }
  return success();
}

void autodiff::attachMovementRules(MLIRContext &context) {
  attach<nn::ReshapeOp, deriveReshape>(context);
  attach<nn::TransposeOp, deriveTranspose>(context);
  attach<nn::BroadcastOp, deriveBroadcast>(context);
  attach<nn::SliceOp, deriveSlice>(context);
  attach<nn::PadOp, derivePad>(context);
  attach<nn::ConcatOp, deriveConcat>(context);
}
