//===- SimplifyConverts.cpp - Share and compose converts ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %1 = convert %0 : !a -> !b          %2 = convert %0 : !a -> !c
//   %2 = convert %1 : !b -> !c    ->
//   %3 = convert %0 : !a -> !c          (uses of %3 become %2)
//
// A route never costs more than two routes with a stop between, so composing
// is safe wherever nobody else wants the stop.
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/Strategy.h"
#include "passes/Partition/Passes.h"

#define DEBUG_TYPE "spmd-simplify-converts"

namespace divisi {
#define GEN_PASS_DEF_SPMDSIMPLIFYCONVERTS
#include "passes/Partition/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {
/// See Passes.td.
class SimplifyConvertsPass
    : public divisi::impl::SPMDSimplifyConvertsBase<SimplifyConvertsPass> {
  void runOnOperation() override;

  /// Brings each convert to its source: through converts that have no other
  /// user, away if nothing changes.
  void compose(Block &block);
  /// Replaces each convert by the first equal one. Operations of a block run
  /// in order, so the first is always at hand.
  void share(Block &block);
};
} // namespace

void SimplifyConvertsPass::compose(Block &block) {
  for (auto convert : llvm::make_early_inc_range(block.getOps<ConvertOp>())) {
    while (auto stop = convert.getInput().getDefiningOp<ConvertOp>()) {
      if (!stop->hasOneUse()) {
        break;
      }
      convert.getInputMutable().assign(stop.getInput());
      stop.erase();
      ++numComposed;
    }
    if (convert.getInput().getType() == convert.getOutput().getType()) {
      convert.getOutput().replaceAllUsesWith(convert.getInput());
    }
    if (convert->use_empty()) {
      convert.erase();
    }
  }
}

void SimplifyConvertsPass::share(Block &block) {
  DenseMap<std::pair<Value, Type>, Value> first; // looked up only
  for (auto convert : llvm::make_early_inc_range(block.getOps<ConvertOp>())) {
    auto [it, inserted] =
        first.insert({{convert.getInput(), convert.getOutput().getType()},
                      convert.getOutput()});
    if (!inserted) {
      convert.getOutput().replaceAllUsesWith(it->second);
      convert.erase();
      ++numShared;
    }
  }
}

void SimplifyConvertsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!isEntry(function)) {
    return;
  }
  for (Block &block : function.getBody()) {
    // Sharing shows who else wants a stop, composing makes sources equal.
    share(block);
    compose(block);
    share(block);
  }
}
