//===- ContractionRules.cpp - Gradients of contractions -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "dialects/NN/Labels.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// A letter that the result lacks stands in both operands, so each gradient is
/// such a contraction again.
static LogicalResult deriveMatmul(nn::MatmulOp op, GradientBuilder &b) {
  nn::Labels labels = *nn::Labels::parse(op.getLabels());
  b.give(0, [&] {
    nn::Labels back{labels.result, labels.b, labels.a};
    return b.matmul(b.gradient(), op.getB(), back.str());
  });
  b.give(1, [&] {
    nn::Labels back{labels.a, labels.result, labels.b};
    return b.matmul(op.getA(), b.gradient(), back.str());
  });
  return success();
}

void autodiff::attachContractionRules(MLIRContext &context) {
  attach<nn::MatmulOp, deriveMatmul>(context);
}
