//===- Canonicalize.cpp - Simplifications that hold everywhere ------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Labels.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace divisi::nn {

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &,
                                            MLIRContext *) {}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &,
                                              MLIRContext *) {}
void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &,
                                              MLIRContext *) {}
void SliceOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void PadOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {
}
void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {
}

} // namespace divisi::nn
