//===- FoldMicroBatches.cpp - One micro-batch for all ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   func.func private @micro_batches(%i, %sum, %rows) {nn.micro_batches} {
//     %x = nn.gather %rows, %i; %y = nn.relu %x; %s = nn.add %sum, %y; return
//     %s
//   }
//   @train_step(%a: tensor<8xf32>):
//     %rows = nn.reshape %a to [2, 4]
//     %s = nn.loop @micro_batches(%two, %zero, %rows)
//   =>
//   @train_step(%a: tensor<8xf32>) {pipe.micro_batches = 2}:
//     %x = nn.slice %a [0, 4) {pipe.each}; %y = nn.relu %x {pipe.each}
//     %s = nn.add %zero, %y {pipe.each, pipe.takes = [0, 0], pipe.gives = [0,
//     0]}
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/Pipe/Pipe.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace divisi {
#define GEN_PASS_DEF_FOLDMICROBATCHES
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;

namespace {

/// See Passes.td.
class FoldMicroBatchesPass
    : public divisi::impl::FoldMicroBatchesBase<FoldMicroBatchesPass> {
public:
  void runOnOperation() override;
};

/// Folds one loop. One use.
class LoopFolder {
public:
  LoopFolder(nn::LoopOp loop, func::FuncOp body)
      : loop_(loop), body_(body), builder_(loop), count_(loop.getMax()) {}

  /// Failure after an error.
  LogicalResult run();

private:
  void enter();
  Value sliceOf(nn::GatherOp row);
  void add(Operation &op);
  LogicalResult giveResults();
  void drop();

  nn::LoopOp loop_;
  func::FuncOp body_;
  OpBuilder builder_;
  int64_t count_;
  IRMapping mapping_;
  llvm::DenseSet<Value> depending_; ///< Values of the body.
};

} // namespace

/// The index, and what is carried, differ from one to the next.
void LoopFolder::enter() {
  depending_.insert(body_.getArgument(0));
  for (unsigned i = 0; i != loop_.getNumResults(); ++i) {
    depending_.insert(body_.getArgument(nn::carriedArgument(i)));
  }
  for (auto [argument, operand] :
       llvm::zip_equal(body_.getArguments(), loop_->getOperands())) {
    mapping_.map(argument, operand);
  }
  BlockArgument index = body_.getArgument(0);
  if (!index.use_empty()) {
    auto type = cast<RankedTensorType>(index.getType());
    auto first = nn::ConstantOp::create(
        builder_, loop_.getLoc(),
        DenseElementsAttr::get(type, builder_.getI64IntegerAttr(0)));
    first->setAttr(pipe::PipeDialect::kEach, builder_.getUnitAttr());
    mapping_.map(index, first.getResult());
  }
}

/// A slice of what has been reshaped to rows, of which `row` is one; else null.
Value LoopFolder::sliceOf(nn::GatherOp row) {
  auto rows = mapping_.lookup(row.getData()).getDefiningOp<nn::ReshapeOp>();
  if (!rows || row.getIndices() != body_.getArgument(0) || row.getAxis() != 0 ||
      row.getBatchDims() != 0) {
    return {};
  }
  auto type = cast<RankedTensorType>(row.getY().getType());
  return nn::typeOfBatches(type, count_) == rows.getX().getType()
             ? nn::sliceBatch(builder_, rows.getX(), count_, 0).getY()
             : Value();
}

void LoopFolder::add(Operation &op) {
  bool depends = llvm::any_of(op.getOperands(), [&](Value value) {
    return depending_.contains(value);
  });
  auto row = dyn_cast<nn::GatherOp>(op);
  Operation *made = nullptr;
  if (Value slice = row ? sliceOf(row) : Value()) {
    mapping_.map(row.getY(), slice);
    made = slice.getDefiningOp();
  } else {
    made = builder_.clone(op, mapping_);
  }
  if (!depends) {
    return;
  }
  made->setAttr(pipe::PipeDialect::kEach, builder_.getUnitAttr());
  depending_.insert(op.result_begin(), op.result_end());
  SmallVector<pipe::CarriedValue> takes;
  for (OpOperand &operand : op.getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    if (argument && argument.getArgNumber() != 0 &&
        argument.getArgNumber() <= loop_.getNumResults()) {
      takes.push_back(
          {operand.getOperandNumber(), argument.getArgNumber() - 1});
    }
  }
  if (!takes.empty()) {
    pipe::setTakes(made, takes);
  }
}

/// `op` runs as soon as its operands are there: what a sum has summed up is not
/// kept.
static void moveToOperands(Operation *op) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (maker && (!last || last->isBeforeInBlock(maker))) {
      last = maker;
    }
  }
  if (last) {
    op->moveAfter(last);
  }
}

LogicalResult LoopFolder::giveResults() {
  Operation *end = body_.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    BlockArgument carried = body_.getArgument(nn::carriedArgument(unsigned(i)));
    Value given = mapping_.lookup(value);
    if (value != carried) {
      auto result = dyn_cast<OpResult>(given);
      if (!result || !result.getOwner()->hasAttr(pipe::PipeDialect::kEach)) {
        return loop_.emitOpError()
               << "runs micro-batches (@" << body_.getName()
               << "), and what they carry as result " << i
               << " depends on none of them: leave out "
                  "--pipeline-parallel-size, or --micro-batches";
      }
      SmallVector<pipe::CarriedValue> gives = pipe::getGives(result.getOwner());
      gives.push_back({result.getResultNumber(), unsigned(i)});
      pipe::setGives(result.getOwner(), gives);
      if (isa<nn::AddOp>(result.getOwner())) {
        moveToOperands(result.getOwner());
      }
    }
    loop_.getResult(unsigned(i)).replaceAllUsesWith(given);
  }
  return success();
}

/// What only the loop has used goes with it.
void LoopFolder::drop() {
  SmallVector<Operation *> makers;
  for (Value operand : loop_->getOperands()) {
    if (Operation *maker = operand.getDefiningOp();
        maker && !llvm::is_contained(makers, maker)) {
      makers.push_back(maker);
    }
  }
  if (Operation *index = mapping_.lookup(body_.getArgument(0)).getDefiningOp();
      index && !llvm::is_contained(makers, index)) {
    makers.push_back(index);
  }
  loop_.erase();
  body_.erase();
  for (Operation *maker : makers) {
    if (isOpTriviallyDead(maker)) {
      maker->erase();
    }
  }
}

LogicalResult LoopFolder::run() {
  auto entry = cast<func::FuncOp>(loop_->getParentOp());
  enter();
  for (Operation &op : body_.front().without_terminator()) {
    add(op);
  }
  if (failed(giveResults())) {
    return failure();
  }
  pipe::setFoldedBatches(entry, count_);
  drop();
  return success();
}

void FoldMicroBatchesPass::runOnOperation() {
  for (auto entry : getOperation().getOps<func::FuncOp>()) {
    for (auto loop :
         llvm::make_early_inc_range(entry.front().getOps<nn::LoopOp>())) {
      auto body = cast<func::FuncOp>(
          nn::lookupBody(loop, loop.getBodyAttr()).getOperation());
      bool isFolded = body->hasAttr(nn::kMicroBatchesAttr);
      if (isFolded && failed(LoopFolder(loop, body).run())) {
        return signalPassFailure();
      }
    }
  }
}
