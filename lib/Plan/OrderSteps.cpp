//===- OrderSteps.cpp - Operators in the order of a pipeline --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/OrderSteps.h"

#include "dialects/NN/NN.h"
#include "dialects/Pipe/Pipe.h"
#include "divisi/Stages/PipelineTimes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>
#include <set>
#include <tuple>

using namespace mlir;
using namespace divisi;

/// All steps in one order in which they could run, of phases that take equally
/// long: it is their order on each stage that is given.
static std::vector<PipelineStep> inOneOrder(const PipelineSchedule &schedule) {
  std::vector<ChunkCost> costs(schedule.numChunks(), ChunkCost{2, 2, 2});
  PipelineTimes times = simulate(schedule, costs);
  std::vector<std::tuple<int64_t, size_t, size_t>> begins;
  for (size_t stage = 0; stage < schedule.numStages(); ++stage) {
    for (auto [at, begin] : llvm::enumerate(times.stages[stage].begins)) {
      begins.emplace_back(begin, stage, at);
    }
  }
  llvm::sort(begins);
  std::vector<PipelineStep> steps;
  for (auto [begin, stage, at] : begins) {
    steps.push_back(schedule.order[stage][at]);
  }
  return steps;
}

namespace {

/// Orders one entry. One use.
class StepOrderer {
public:
  explicit StepOrderer(func::FuncOp entry) : entry_(entry) {}

  void run(const PipelineSchedule &schedule);

private:
  using Key = std::tuple<size_t, size_t, Phase>;

  void readOperators();
  void runStep(const PipelineStep &step);
  void becomeDue(Operation *op);
  void emitReady();
  void emit(Operation *op);

  func::FuncOp entry_;
  std::map<Key, SmallVector<Operation *>> steps_;
  /// Of operators that depend on a micro-batch: operands that are missing.
  llvm::DenseMap<Operation *, size_t> missing_;
  llvm::SmallPtrSet<Operation *, 16> due_, emitted_;
  llvm::DenseMap<Operation *, size_t> place_; ///< In the order that is given.
  std::set<std::pair<size_t, Operation *>> ready_; ///< By place.
  SmallVector<Operation *> joins_; ///< Of several micro-batches.
};

} // namespace

void StepOrderer::readOperators() {
  for (Operation &op : entry_.front().without_terminator()) {
    place_[&op] = place_.size();
    llvm::SmallPtrSet<Operation *, 4> makers;
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (maker && missing_.contains(maker)) {
        makers.insert(maker);
      }
    }
    std::optional<PipelineStep> step = pipe::getStep(&op);
    if (!step && makers.empty()) {
      continue;
    }
    missing_[&op] = makers.size();
    if (step) {
      steps_[{step->chunk, step->microBatch, step->phase}].push_back(&op);
    } else if (!isa<nn::UpdateOp>(op)) {
      joins_.push_back(&op);
    }
  }
}

/// Behind all that has been emitted; what depends on no micro-batch first.
void StepOrderer::emit(Operation *op) {
  if (!emitted_.insert(op).second) {
    return;
  }
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (maker && !missing_.contains(maker)) {
      emit(maker);
    }
  }
  op->moveBefore(entry_.front().getTerminator());
}

void StepOrderer::becomeDue(Operation *op) {
  due_.insert(op);
  if (missing_[op] == 0) {
    ready_.insert({place_.lookup(op), op});
  }
}

void StepOrderer::emitReady() {
  while (!ready_.empty()) {
    Operation *op = ready_.begin()->second;
    ready_.erase(ready_.begin());
    emit(op);
    llvm::SmallPtrSet<Operation *, 4> users(op->user_begin(), op->user_end());
    for (Operation *user : users) {
      auto left = missing_.find(user);
      if (left != missing_.end() && --left->second == 0 &&
          due_.contains(user)) {
        ready_.insert({place_.lookup(user), user});
      }
    }
  }
}

void StepOrderer::runStep(const PipelineStep &step) {
  SmallVector<Phase> phases{step.phase};
  if (step.phase == Phase::Backward) {
    phases = {Phase::InputGradient, Phase::WeightGradient};
  }
  // A whole backward step is in the order of the program.
  SmallVector<Operation *> ops;
  for (Phase phase : phases) {
    llvm::append_range(ops, steps_[{step.chunk, step.microBatch, phase}]);
  }
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    return place_.lookup(a) < place_.lookup(b);
  });
  for (Operation *op : ops) {
    becomeDue(op);
    emitReady();
  }
}

void StepOrderer::run(const PipelineSchedule &schedule) {
  readOperators();
  for (Operation *op : joins_) {
    becomeDue(op);
  }
  for (const PipelineStep &step : inOneOrder(schedule)) {
    runStep(step);
  }
  // What belongs to no step, and new values of globals.
  SmallVector<Operation *> rest;
  for (Operation &op : entry_.front().without_terminator()) {
    if (!emitted_.contains(&op)) {
      rest.push_back(&op);
    }
  }
  for (Operation *op : rest) {
    emit(op);
  }
}

void divisi::orderSteps(func::FuncOp entry) {
  if (std::optional<PipelineSchedule> schedule = pipe::getSchedule(entry)) {
    StepOrderer(entry).run(*schedule);
  }
}
