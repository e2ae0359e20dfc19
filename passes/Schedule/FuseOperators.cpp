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
#include "llvm/ADT/StringSet.h"

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

/// Whether `op` makes the new value of a global from the old one: it may be
/// written there only by a call that has read what it needs of that.
static bool updatesInPlace(Operation *op) {
  llvm::StringSet<> read;
  for (Value operand : op->getOperands()) {
    if (auto global = operand.getDefiningOp<nn::ReadOp>()) {
      read.insert(global.getGlobal());
    }
  }
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    auto update = dyn_cast<nn::UpdateOp>(user);
    return update && read.contains(update.getGlobal());
  });
}

void FuseOperatorsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!spmd::isEntry(function) || function.isExternal()) {
    return;
  }
  Builder builder(&getContext());
  Block &body = function.front();
  for (auto &[op, fusion] : fusionsOf(body)) {
    if (!fusion.fused.operands.empty() && !updatesInPlace(op)) {
      op->setAttr(spmd::SPMDDialect::kFuse,
                  builder.getI64IntegerAttr(fusion.fused.operands.front()));
      ++numFused;
    }
  }
}
