//===- StepLabels.cpp - Which step an operator belongs to -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/StepLabels.h"

#include "dialects/NN/Locations.h"
#include "dialects/Pipe/Pipe.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace divisi::plan {

namespace {

/// Labels one entry. One use.
class StepLabeller {
public:
  StepLabeller(func::FuncOp entry,
               const llvm::DenseMap<Operation *, int64_t> &chunks)
      : entry_(entry), chunks_(chunks) {}

  StepKinds run();

private:
  void findBatches();
  void findForward();
  void findReach();

  func::FuncOp entry_;
  const llvm::DenseMap<Operation *, int64_t> &chunks_;
  StepKinds kinds_;
  llvm::DenseSet<Operation *> batched_; ///< What depends on a micro-batch.
  llvm::DenseSet<Operation *> forward_;
  /// Of backward operators: the first chunk that goes on with them.
  llvm::DenseMap<Operation *, int64_t> reach_;
};

} // namespace

void StepLabeller::findBatches() {
  std::optional<int64_t> count = pipe::getFoldedBatches(entry_);
  kinds_.numMicroBatches = count.value_or(1);
  for (Operation &op : entry_.front()) {
    bool depends = count ? op.hasAttr(pipe::PipeDialect::kEach)
                         : llvm::any_of(op.getOperands(), [&](Value operand) {
                             Operation *maker = operand.getDefiningOp();
                             return !maker || batched_.contains(maker);
                           });
    if (depends) {
      batched_.insert(&op);
    }
  }
}

void StepLabeller::findForward() {
  Operation *end = entry_.front().getTerminator();
  kinds_.isTraining = end->getNumOperands() > 0 &&
                      llvm::any_of(entry_.front(), [](Operation &op) {
                        return StringRef(nn::nodeName(op.getLoc()))
                            .ends_with(nn::kGradientSuffix);
                      });
  if (!kinds_.isTraining) {
    return;
  }
  SmallVector<Value> list{end->getOperand(0)};
  while (!list.empty()) {
    Operation *maker = list.pop_back_val().getDefiningOp();
    if (maker && forward_.insert(maker).second) {
      llvm::append_range(list, maker->getOperands());
    }
  }
}

void StepLabeller::findReach() {
  for (Operation &op : llvm::reverse(entry_.front())) {
    int64_t chunk = chunks_.lookup(&op);
    for (Operation *user : op.getUsers()) {
      if (batched_.contains(user) && !forward_.contains(user)) {
        chunk = std::min(chunk, reach_.lookup(user));
      }
    }
    reach_[&op] = chunk;
  }
}

StepKinds StepLabeller::run() {
  findBatches();
  findForward();
  findReach();
  for (Operation &op : entry_.front().without_terminator()) {
    if (!batched_.contains(&op) || isa<nn::UpdateOp>(op)) {
      continue;
    }
    int64_t chunk = chunks_.lookup(&op);
    Phase phase = Phase::Forward;
    if (kinds_.isTraining && !forward_.contains(&op)) {
      phase = reach_.lookup(&op) < chunk ? Phase::InputGradient
                                         : Phase::WeightGradient;
    }
    pipe::setStep(&op, {size_t(chunk), 0, phase});
  }
  return kinds_;
}

StepKinds labelSteps(func::FuncOp entry,
                     const llvm::DenseMap<Operation *, int64_t> &chunks) {
  return StepLabeller(entry, chunks).run();
}

} // namespace divisi::plan
