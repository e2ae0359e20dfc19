//===- FunctionBuffers.cpp - The buffers that a function will have --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says of each operation which steps it will be in the list of a program, as
// lower-to-exec makes them, so that blocks have the lifetimes that plan-memory
// gives them.
//
//===----------------------------------------------------------------------===//

#include "EntryTasks.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Evaluate/KernelCall.h"
#include "passes/Schedule/LocalOperation.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

/// The number of a new buffer for `value`.
std::optional<size_t> FunctionBuffers::make(Value value) {
  std::optional<int64_t> bytes =
      nn::byteCount(cast<RankedTensorType>(value.getType()));
  if (!bytes) {
    return std::nullopt;
  }
  bufferOf_[value] = bytes_.size();
  bytes_.push_back(*bytes);
  return bytes_.size() - 1;
}

/// Adds the buffer of `value`, if it has one.
void FunctionBuffers::addUse(Value value, std::vector<size_t> &list) const {
  if (auto buffer = bufferOf_.find(value); buffer != bufferOf_.end()) {
    list.push_back(buffer->second);
  }
}

size_t FunctionBuffers::queueOf(const std::string &name) {
  return queues_.try_emplace(name, queues_.size() + 1).first->second;
}

/// Allocations are steps, too, and so are views: plan-memory counts them.
bool FunctionBuffers::add(Operation &op) {
  std::vector<BufferStep> &steps = steps_[&op];
  if (isa<func::ReturnOp>(op)) {
    for (Value value : op.getOperands()) {
      addUse(value, steps.emplace_back().reads);
    }
    return true;
  }
  if (std::optional<unsigned> viewed = viewedOperandOf(&op)) {
    auto buffer = bufferOf_.find(op.getOperand(*viewed));
    if (buffer != bufferOf_.end()) {
      size_t number = buffer->second;
      bufferOf_[op.getResult(0)] = number;
    }
    steps.emplace_back();
    return true;
  }
  bool makes = isOperator(&op) || tagOf(&op);
  steps.resize(makes ? op.getNumResults() : 0);
  BufferStep step;
  step.readsAtEnd = isa<nn::UpdateOp>(op);
  if (tagOf(&op)) {
    step.queue = queueOf(communicatorOf(&op));
  }
  for (Value operand : op.getOperands()) {
    addUse(operand, step.reads);
  }
  if (makes) {
    for (Value result : op.getResults()) {
      std::optional<size_t> buffer = make(result);
      if (!buffer) {
        return false;
      }
      step.writes.push_back(*buffer);
    }
  }
  if (makes && isa<nn::LoopInterface>(op) && op.getNumResults() == 1) {
    std::optional<rt::KernelQuery> query =
        queryKernel(op.getName().getStringRef(), kernelConfig(&op),
                    op.getOperandTypes(), op.getResultTypes());
    for (auto [operand, result] :
         query ? query->inPlace : decltype(query->inPlace)()) {
      addUse(op.getOperand(operand), step.inPlace);
    }
  }
  steps.push_back(std::move(step));
  return true;
}

std::optional<FunctionBuffers> FunctionBuffers::read(func::FuncOp function) {
  FunctionBuffers made;
  made.numInputs_ = function.getNumArguments();
  for (Operation &op : function.front()) {
    if (!made.add(op)) {
      return std::nullopt;
    }
  }
  return made;
}

std::vector<ArenaBlock> FunctionBuffers::blocks(ArrayRef<Operation *> order,
                                                bool overlaps) const {
  std::vector<BufferStep> steps(numInputs_);
  for (Operation *op : order) {
    const std::vector<BufferStep> &own = steps_.at(op);
    steps.insert(steps.end(), own.begin(), own.end());
  }
  return blocksOf(steps, bytes_, overlaps).blocks;
}
