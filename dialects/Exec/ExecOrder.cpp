//===- ExecOrder.cpp - Queues, and what instructions touch ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Layout/Steps.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

std::string exec::queueName(InstructionInterface instruction) {
  if (StringAttr name = instruction.getQueueAttr()) {
    return name.str();
  }
  std::optional<Meeting> meeting = instruction.getMeeting();
  if (!meeting) {
    return kComputeQueue.str();
  }
  std::string name = meeting->grid.getValue().str();
  if (meeting->target) {
    return name + "->" + meeting->target.getValue().str();
  }
  auto collective = cast<CollectiveOp>(instruction.getOperation());
  for (StringRef axis : collective.getAxes().getAsValueRange<StringAttr>()) {
    name += ("." + axis).str();
  }
  return name;
}

LogicalResult exec::verifyQueue(Operation *op) {
  auto instruction = cast<InstructionInterface>(op);
  StringAttr name = instruction.getQueueAttr();
  bool isCompute = !name || name == kComputeQueue;
  bool isLocal = isCompute || name == kCopyQueue;
  StringRef expected;
  if (instruction.getMeeting()) {
    expected = name && isLocal ? "that of a communicator" : "";
  } else if (isa<CallOp, CommitOp, LoopOp>(op)) {
    expected = isCompute ? "" : "compute";
  } else {
    expected = isLocal ? "" : "compute or copy";
  }
  if (!expected.empty()) {
    return op->emitOpError("(Q1) is on queue '")
           << name.getValue() << "', expected " << expected;
  }
  return success();
}

std::optional<Meeting> CallOp::getMeeting() { return std::nullopt; }
SmallVector<Value> CallOp::getReads() { return getInputs(); }
SmallVector<Value> CallOp::getWrites() { return getOutputs(); }

std::optional<Meeting> CollectiveOp::getMeeting() {
  std::optional<StepKind> kind = parseStepKind(getKind());
  if (kind == StepKind::Slice || kind == StepKind::Mask) {
    return std::nullopt;
  }
  BufferType type = getSource().getType();
  Meeting meeting{type.getGrid(), {}, nullptr};
  const Grid &grid = spmd::getLocal(type.getTensor()).getGrid();
  for (StringRef name : getAxes().getAsValueRange<StringAttr>()) {
    if (std::optional<AxisId> axis = grid.find(name)) {
      meeting.axes.push_back(*axis);
    }
  }
  return meeting;
}

SmallVector<Value> CollectiveOp::getReads() { return {getSource()}; }
SmallVector<Value> CollectiveOp::getWrites() { return {getTarget()}; }

std::optional<Meeting> TransferOp::getMeeting() {
  return Meeting{cast<BufferType>(getFrom()).getGrid(),
                 {},
                 cast<BufferType>(getTo()).getGrid()};
}

static SmallVector<Value> listOf(Value value) {
  return value ? SmallVector<Value>{value} : SmallVector<Value>();
}

SmallVector<Value> TransferOp::getReads() { return listOf(getSource()); }
SmallVector<Value> TransferOp::getWrites() { return listOf(getTarget()); }

std::optional<Meeting> LoopOp::getMeeting() { return std::nullopt; }

SmallVector<Value> LoopOp::getReads() {
  SmallVector<Value> reads = {getCount()};
  llvm::append_range(reads, getCarried());
  llvm::append_range(reads, getGiven());
  return reads;
}

SmallVector<Value> LoopOp::getWrites() {
  SmallVector<Value> writes(getOutputs());
  llvm::append_range(writes, getSpares());
  llvm::append_range(writes, listOf(getArena()));
  llvm::append_range(writes, listOf(getDeviceArena()));
  return writes;
}

std::optional<Meeting> OutputOp::getMeeting() { return std::nullopt; }
SmallVector<Value> OutputOp::getReads() { return {getSource()}; }
SmallVector<Value> OutputOp::getWrites() { return {}; }

std::optional<Meeting> CopyOp::getMeeting() { return std::nullopt; }
SmallVector<Value> CopyOp::getReads() { return {getSource()}; }
SmallVector<Value> CopyOp::getWrites() { return {getTarget()}; }

std::optional<Meeting> CommitOp::getMeeting() { return std::nullopt; }
SmallVector<Value> CommitOp::getReads() {
  return llvm::map_to_vector(
      (*this)->getParentOfType<ProgramOp>().getBody().getOps<NewGlobalOp>(),
      [](NewGlobalOp global) -> Value { return global.getBuffer(); });
}
SmallVector<Value> CommitOp::getWrites() { return {}; }

std::optional<Meeting> UpdateOp::getMeeting() { return std::nullopt; }
SmallVector<Value> UpdateOp::getReads() { return {}; }
SmallVector<Value> UpdateOp::getWrites() { return {}; }
