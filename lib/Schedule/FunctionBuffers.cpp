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

#include "FunctionBuffers.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Evaluate/KernelCall.h"
#include "divisi/Schedule/LocalOperation.h"

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
    step.isSend = op.getNumResults() == 0;
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
      if (beginsItsBuffer(op.getOperand(operand))) {
        addUse(op.getOperand(operand), step.inPlace);
      }
    }
  }
  steps.push_back(std::move(step));
  return true;
}

/// Whether `writer` may write its result over its operand that shows `global`.
static bool mayOverwrite(Operation *writer, StringRef global, Value result) {
  auto isOld = [&](Value operand) { return oldGlobalOf(operand) == global; };
  // An operand that occurs twice would be read while it is overwritten.
  if (!isa<nn::LoopInterface>(writer) ||
      llvm::count_if(writer->getOperands(), isOld) != 1) {
    return false;
  }
  std::optional<rt::KernelQuery> query =
      queryKernel(writer->getName().getStringRef(), kernelConfig(writer),
                  writer->getOperandTypes(), writer->getResultTypes());
  int operand = llvm::find_if(writer->getOperands(), isOld).getIndex();
  int number = cast<OpResult>(result).getResultNumber();
  return query && beginsItsBuffer(writer->getOperand(operand)) &&
         llvm::is_contained(query->inPlace, std::pair(operand, number));
}

void FunctionBuffers::addUpdates(func::FuncOp function) {
  llvm::StringMap<SmallVector<Operation *>> readers;
  for (Operation &op : function.front()) {
    if (isa<nn::UpdateOp>(op) || viewedOperandOf(&op)) {
      continue;
    }
    for (Value operand : op.getOperands()) {
      if (StringRef global = oldGlobalOf(operand); !global.empty()) {
        readers[global].push_back(&op);
      }
    }
  }
  for (auto update : function.front().getOps<nn::UpdateOp>()) {
    Value value = update.getValue();
    Operation *writer = value.getDefiningOp();
    if (!writer || (!isOperator(writer) && !tagOf(writer))) {
      continue;
    }
    Update made{bufferOf_.at(value), writer, readers[update.getGlobal()]};
    if (llvm::is_contained(made.readers, writer)) {
      if (!mayOverwrite(writer, update.getGlobal(), value)) {
        continue;
      }
      llvm::erase(made.readers, writer);
    }
    updates_.push_back(std::move(made));
  }
}

std::optional<FunctionBuffers> FunctionBuffers::read(func::FuncOp function,
                                                     bool isAll) {
  FunctionBuffers made;
  made.numInputs_ = function.getNumArguments();
  made.isAll_ = isAll;
  for (Operation &op : function.front()) {
    if (!made.add(op)) {
      return std::nullopt;
    }
  }
  made.addUpdates(function);
  return made;
}

/// The buffers that are no part of the arena: new values in place.
llvm::BitVector FunctionBuffers::atRest(ArrayRef<Operation *> order) const {
  llvm::BitVector rests(bytes_.size());
  if (updates_.empty()) {
    return rests;
  }
  llvm::DenseMap<Operation *, size_t> timeOf;
  size_t meetings = 0; // up to the last one
  for (auto [time, op] : llvm::enumerate(order)) {
    timeOf[op] = time;
    meetings = tagOf(op) && !isAll_ ? time + 1 : meetings;
  }
  for (const Update &update : updates_) {
    size_t time = timeOf.at(update.writer);
    rests[update.buffer] =
        rests[update.buffer] ||
        (time >= meetings &&
         llvm::all_of(update.readers, [&](Operation *reader) {
           return timeOf.at(reader) < time;
         }));
  }
  return rests;
}

std::vector<ArenaBlock> FunctionBuffers::blocks(ArrayRef<Operation *> order,
                                                bool overlaps) const {
  llvm::BitVector rests = atRest(order);
  std::vector<BufferStep> steps(numInputs_);
  for (Operation *op : order) {
    const std::vector<BufferStep> &own = steps_.at(op);
    steps.insert(steps.end(), own.begin(), own.end());
  }
  if (rests.any()) {
    for (BufferStep &step : steps) {
      for (std::vector<size_t> *list :
           {&step.reads, &step.writes, &step.inPlace}) {
        llvm::erase_if(*list, [&](size_t buffer) { return rests[buffer]; });
      }
    }
  }
  return blocksOf(steps, bytes_, overlaps).blocks;
}
