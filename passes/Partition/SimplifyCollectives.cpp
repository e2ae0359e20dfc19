//===- SimplifyCollectives.cpp - Merge, share and remove steps ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %1 = all_reduce %0          %1 = all_gather %0 : !rows -> !whole
//   %2 = slice %1               %2 = slice %1 : !whole -> !rows
//   ->                          ->
//   %2 = reduce_scatter %0      (uses of %2 become %0)
//
// One route never has these pairs; they come from two routes that meet at an
// identity point. While all ranks of a grid share a program, what happens to a
// step here happens on every rank that takes part in it.
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/Strategy.h"
#include "passes/Partition/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"

#define DEBUG_TYPE "spmd-simplify-collectives"

namespace divisi {
#define GEN_PASS_DEF_SPMDSIMPLIFYCOLLECTIVES
#include "passes/Partition/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {
/// See Passes.td.
class SimplifyCollectivesPass
    : public divisi::impl::SPMDSimplifyCollectivesBase<
          SimplifyCollectivesPass> {
  void runOnOperation() override;

  bool share(Block &block);
  bool merge(Block &block);
  bool eraseDead(Block &block);
};
} // namespace

static bool isMove(Operation &op) { return isa<StepInterface, TransferOp>(op); }

// Equal moves of one value: the later becomes the first.
bool SimplifyCollectivesPass::share(Block &block) {
  bool changed = false;
  DenseMap<Value, SmallVector<Operation *>> movesOf; // looked up only
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isMove(op) || op.getNumOperands() == 0) {
      continue;
    }
    SmallVector<Operation *> &moves = movesOf[op.getOperand(0)];
    auto *equal = llvm::find_if(moves, [&](Operation *other) {
      return OperationEquivalence::isEquivalentTo(
          other, &op, OperationEquivalence::IgnoreLocations);
    });
    if (equal == moves.end()) {
      moves.push_back(&op);
      continue;
    }
    op.replaceAllUsesWith(*equal);
    op.erase();
    ++numShared;
    changed = true;
  }
  return changed;
}

// all_reduce + slice over the same axes -> reduce_scatter
static bool mergeIntoReduceScatter(SliceOp slice) {
  auto reduce = slice.getInput().getDefiningOp<AllReduceOp>();
  if (!reduce || !reduce->hasOneUse() || reduce.getAxes() != slice.getAxes()) {
    return false;
  }
  OpBuilder builder(slice);
  auto scatter = ReduceScatterOp::create(
      builder, reduce.getLoc(), slice.getOutput().getType(), reduce.getInput(),
      slice.getGridAttr(), slice.getAxesAttr(), IntegerAttr());
  slice.getOutput().replaceAllUsesWith(scatter.getOutput());
  slice.erase();
  reduce.erase();
  return true;
}

// slice of an all_gather, back to what was gathered
static bool cancelGather(SliceOp slice) {
  auto gather = slice.getInput().getDefiningOp<AllGatherOp>();
  if (!gather || gather.getInput().getType() != slice.getOutput().getType()) {
    return false;
  }
  slice.getOutput().replaceAllUsesWith(gather.getInput());
  slice.erase();
  return true;
}

bool SimplifyCollectivesPass::merge(Block &block) {
  bool changed = false;
  for (auto slice : llvm::make_early_inc_range(block.getOps<SliceOp>())) {
    if (mergeIntoReduceScatter(slice) || cancelGather(slice)) {
      ++numMerged;
      changed = true;
    }
  }
  return changed;
}

// From the end, so that a chain goes at once.
bool SimplifyCollectivesPass::eraseDead(Block &block) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isMove(op) && op.getNumResults() != 0 && op.use_empty()) {
      op.erase();
      ++numDead;
      changed = true;
    }
  }
  return changed;
}

void SimplifyCollectivesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!isEntry(function)) {
    return;
  }
  for (Block &block : function.getBody()) {
    // Each round erases an operation, so this ends.
    bool changed = true;
    while (changed) {
      changed = eraseDead(block);
      changed |= share(block);
      changed |= merge(block);
    }
  }
}
