//===- WriteMicroBatches.cpp - Each micro-batch ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   @train_step(%a: tensor<8xf32>) {pipe.micro_batches = 2}:
//     %x = nn.slice %a [0, 4) {pipe.each}; %y = nn.relu %x {pipe.each}
//     %s = nn.add %zero, %y {pipe.each, pipe.takes = [0, 0], pipe.gives = [0,
//     0]}
//   =>
//     %x0 = nn.slice %a [0, 4); %y0 = nn.relu %x0
//     %x1 = nn.slice %a [4, 8); %y1 = nn.relu %x1; %s1 = nn.add %y0, %y1
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Plan/FewBatches.h"
#include "divisi/Plan/StepLabels.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>
#include <map>
#include <set>

namespace divisi {
#define GEN_PASS_DEF_WRITEMICROBATCHES
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using pipe::PipeDialect;

namespace {

/// See Passes.td.
class WriteMicroBatchesPass
    : public divisi::impl::WriteMicroBatchesBase<WriteMicroBatchesPass> {
public:
  using WriteMicroBatchesBase::WriteMicroBatchesBase;
  void runOnOperation() override;
};

/// Writes those of one entry. One use.
class BatchWriter {
public:
  /// Of `count` micro-batches the first `written`.
  BatchWriter(func::FuncOp entry, int64_t count, int64_t written)
      : entry_(entry), count_(count), written_(written),
        symbols_(entry->getParentOfType<ModuleOp>()) {}

  /// Failure after an error.
  LogicalResult run();

private:
  void findOperators();
  LogicalResult checkUses();
  void beginSums();
  void addBatch(OpBuilder &builder, int64_t number);
  Operation *copy(OpBuilder &builder, Operation *op, const IRMapping &mapping,
                  int64_t number);
  void noteGiven(Operation *first, const IRMapping &mapping);
  void finish();

  func::FuncOp entry_;
  int64_t count_, written_;
  SymbolTable symbols_;
  SmallVector<Operation *> operators_; ///< Of the first batch, in order.
  /// What they make for the next batch alone; that of the last one rests.
  llvm::SmallPtrSet<Operation *, 16> restsOnce_;
  /// Of what is carried, by number: that of the last batch that is written.
  std::map<unsigned, Value> given_;
  /// Of what is joined: that of each batch.
  llvm::DenseMap<Value, SmallVector<Value>> joined_;
};

} // namespace

static bool isOfEach(Operation *op) {
  return op && op->hasAttr(PipeDialect::kEach);
}

void BatchWriter::findOperators() {
  for (Operation &op : entry_.front()) {
    if (isOfEach(&op)) {
      operators_.push_back(&op);
      if (!pipe::getGives(&op).empty() &&
          llvm::none_of(op.getUsers(), isOfEach)) {
        restsOnce_.insert(&op);
      }
    }
    if (op.hasAttr(PipeDialect::kJoin)) {
      for (Value operand : op.getOperands()) {
        joined_[operand] = {operand};
      }
    }
  }
}

/// Whoever edits a dump may have used what is one batch's.
LogicalResult BatchWriter::checkUses() {
  std::set<unsigned> given;
  for (Operation *op : operators_) {
    for (pipe::CarriedValue value : pipe::getGives(op)) {
      given.insert(value.number);
    }
  }
  for (Operation &op : entry_.front()) {
    for (pipe::CarriedValue value : pipe::getTakes(&op)) {
      if (!given.count(value.number)) {
        return op.emitOpError() << "takes what no micro-batch gives "
                                   "(pipe.takes, number "
                                << value.number << ")";
      }
    }
    bool isJoin = op.hasAttr(PipeDialect::kJoin);
    if (isJoin && int64_t(op.getNumOperands()) != count_) {
      return op.emitOpError() << "joins " << op.getNumOperands()
                              << " micro-batches, and there are " << count_;
    }
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *maker = operand.get().getDefiningOp();
      if (isOfEach(&op) || isJoin || !isOfEach(maker)) {
        continue;
      }
      unsigned number = cast<OpResult>(operand.get()).getResultNumber();
      bool isGiven =
          llvm::any_of(pipe::getGives(maker), [&](pipe::CarriedValue value) {
            return value.index == number;
          });
      if (!isGiven) {
        return op.emitOpError()
               << "uses as operand " << operand.getOperandNumber()
               << " what each micro-batch makes for itself: give it pipe.each, "
                  "or its maker pipe.gives";
      }
    }
  }
  return success();
}

/// A sum that is zero at first is that of the first batch from then on.
void BatchWriter::beginSums() {
  for (Operation *op : operators_) {
    SmallVector<pipe::CarriedValue> takes = pipe::getTakes(op);
    if (!isa<nn::AddOp>(op) || takes.size() != 1 ||
        !nn::isZeros(op->getOperand(takes.front().index))) {
      continue;
    }
    Value summand = op->getOperand(1 - takes.front().index);
    if (summand.getType() != op->getResult(0).getType()) {
      continue;
    }
    for (pipe::CarriedValue value : pipe::getGives(op)) {
      given_[value.number] = summand;
    }
  }
}

/// What `first`, or its copy, gives to the next batch.
void BatchWriter::noteGiven(Operation *first, const IRMapping &mapping) {
  for (pipe::CarriedValue value : pipe::getGives(first)) {
    Value result = first->getResult(value.index);
    given_[value.number] = mapping.lookupOrDefault(result);
  }
}

Operation *BatchWriter::copy(OpBuilder &builder, Operation *op,
                             const IRMapping &mapping, int64_t number) {
  auto slice = dyn_cast<nn::SliceOp>(op);
  Operation *made = builder.cloneWithoutRegions(*op);
  if (slice && nn::batchOf(slice)) {
    nn::SliceOp own = nn::sliceBatch(builder, slice.getX(), count_, number);
    auto copied = cast<nn::SliceOp>(made);
    copied.setStarts(own.getStarts());
    copied.setLimits(own.getLimits());
    own.erase();
  }
  if (auto index = dyn_cast<nn::ConstantOp>(made)) {
    auto type = cast<RankedTensorType>(index.getType());
    index.setValueAttr(DenseElementsAttr::get(
        type, builder.getIntegerAttr(type.getElementType(), number)));
  }
  if (auto loop = dyn_cast<nn::LoopOp>(made)) {
    auto body = cast<func::FuncOp>(
        nn::lookupBody(loop, loop.getBodyAttr()).getOperation());
    auto own = body.clone();
    symbols_.insert(own, Block::iterator(body->getNextNode()));
    loop.setBodyAttr(FlatSymbolRefAttr::get(own));
  }
  for (OpOperand &operand : made->getOpOperands()) {
    operand.set(mapping.lookupOrDefault(operand.get()));
  }
  for (pipe::CarriedValue value : pipe::getTakes(op)) {
    made->setOperand(value.index, given_.at(value.number));
  }
  if (number + 1 != written_ && restsOnce_.contains(op)) {
    made->removeAttr(spmd::SPMDDialect::kPlaces);
  }
  if (std::optional<PipelineStep> step = pipe::getStep(op)) {
    step->microBatch = size_t(number);
    pipe::setStep(made, *step);
  }
  return made;
}

void BatchWriter::addBatch(OpBuilder &builder, int64_t number) {
  IRMapping mapping;
  auto before = given_;
  for (Operation *op : operators_) {
    std::swap(before, given_); // takes what the batch before has given
    Operation *made = copy(builder, op, mapping, number);
    std::swap(before, given_);
    mapping.map(op->getResults(), made->getResults());
    noteGiven(op, mapping);
  }
  for (auto &[first, values] : joined_) {
    values.push_back(mapping.lookup(first));
  }
}

/// Gives others what is carried, of the last batch, and what they join.
void BatchWriter::finish() {
  for (Operation *op : operators_) {
    for (pipe::CarriedValue value : pipe::getGives(op)) {
      op->getResult(value.index)
          .replaceUsesWithIf(given_.at(value.number), [](OpOperand &use) {
            return !isOfEach(use.getOwner());
          });
    }
  }
  for (Operation &op : entry_.front()) {
    if (op.hasAttr(PipeDialect::kJoin)) {
      for (OpOperand &operand : op.getOpOperands()) {
        const SmallVector<Value> &values = joined_.at(operand.get());
        operand.set(values[std::min<size_t>(operand.getOperandNumber(),
                                            values.size() - 1)]);
      }
    }
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(entry_.front()))) {
    bool isOwn = isOfEach(&op);
    for (StringRef name : {PipeDialect::kEach, PipeDialect::kTakes,
                           PipeDialect::kGives, PipeDialect::kJoin}) {
      op.removeAttr(name);
    }
    // Zeros, and sums that have begun with another value.
    if ((isOwn || isa<nn::ConstantOp>(op)) && isOpTriviallyDead(&op)) {
      op.erase();
    }
  }
  entry_->removeAttr(PipeDialect::kMicroBatches);
  std::optional<PipelineSchedule> schedule = pipe::getSchedule(entry_);
  if (schedule && written_ < count_) {
    pipe::setSchedule(entry_, firstMicroBatches(*schedule, size_t(written_)));
  }
}

LogicalResult BatchWriter::run() {
  findOperators();
  if (failed(checkUses())) {
    return failure();
  }
  if (!pipe::getSchedule(entry_)) { // on one stage, one after the other
    plan::labelSteps(entry_, llvm::DenseMap<Operation *, int64_t>());
  }
  for (Operation *op : operators_) {
    noteGiven(op, IRMapping());
  }
  if (written_ > 1) {
    beginSums();
  }
  if (!operators_.empty()) {
    OpBuilder builder(entry_.getContext());
    builder.setInsertionPointAfter(operators_.back());
    for (int64_t number = 1; number < written_; ++number) {
      addBatch(builder, number);
    }
    for (Operation *op : operators_) {
      if (written_ > 1 && restsOnce_.contains(op)) {
        op->removeAttr(spmd::SPMDDialect::kPlaces);
      }
    }
  }
  finish();
  return success();
}

void WriteMicroBatchesPass::runOnOperation() {
  SmallVector<func::FuncOp> entries(getOperation().getOps<func::FuncOp>());
  for (func::FuncOp entry : entries) {
    std::optional<int64_t> count = pipe::getFoldedBatches(entry);
    int64_t written =
        count && most > 0 ? std::min<int64_t>(most, *count) : count.value_or(0);
    if (count && failed(BatchWriter(entry, *count, written).run())) {
      return signalPassFailure();
    }
  }
}
