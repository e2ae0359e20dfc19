//===- FuseOperators.cpp - Which operators one kernel computes ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Passes.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/Fusion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace divisi {
#define GEN_PASS_DEF_FUSEOPERATORS
#include "passes/Schedule/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;

namespace {

/// See Passes.td.
class FuseOperatorsPass
    : public divisi::impl::FuseOperatorsBase<FuseOperatorsPass> {
public:
  void runOnOperation() override;
};

} // namespace

void FuseOperatorsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!spmd::isEntry(function) || function.isExternal()) {
    return;
  }
  Builder builder(&getContext());
  Block &body = function.front();
  for (auto &[op, fusion] : fusionsOf(body)) {
    if (!fusion.fused.operands.empty()) {
      op->setAttr(spmd::SPMDDialect::kFuse,
                  builder.getI64IntegerAttr(fusion.fused.operands.front()));
      ++numFused;
    }
  }
}
