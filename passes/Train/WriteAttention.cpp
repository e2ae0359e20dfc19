//===- WriteAttention.cpp - Gradients of attention as products ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   %dv = nn.attention_gradient %q, %k, %v, %dy, %lse, %delta {of = "v", …}
//   becomes
//   %z = nn.matmul %q, %k {labels = "bhgsd,bhtd->bhgst"}
//   %p = nn.exp (%z * scale - %lse)
//   %dv = nn.matmul %p, %dy {labels = "bhgst,bhgse->bhte"}
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"

#include "dialects/NN/AttentionGradient.h"
#include "divisi/Autodiff/Gradients.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace divisi {
#define GEN_PASS_DEF_WRITEATTENTION
#include "passes/Train/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

namespace {

class WriteAttentionPass
    : public divisi::impl::WriteAttentionBase<WriteAttentionPass> {
public:
  using WriteAttentionBase::WriteAttentionBase;
  void runOnOperation() override {
    int64_t written = writeAttentionGradients(getOperation(), widest);
    if (apart) {
      getOperation().walk([](nn::AttentionGradientOp op) {
        op->setAttr(nn::kApartAttr, UnitAttr::get(op.getContext()));
      });
    }
    if (written == 0) {
      return;
    }
    numWritten += written;
    // Gradients of one attention have most of it in common.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace
