//===- RankProgramBuilder.cpp - Making one rank's tasks -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankProgramBuilder.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

const void *RankProgramBuilder::addressOf(uint32_t buffer) const {
  const pb::Buffer &root = program_.root(buffer);
  switch (root.where_case()) {
  case pb::Buffer::kArenaOffset:
    return context_.arena + root.arena_offset();
  case pb::Buffer::kGlobal:
    if (onlyCounts()) {
      return &context_; // any address: there are no bytes yet
    }
    return context_.globals->data(root.global(), context_.rank);
  case pb::Buffer::kNewGlobal:
    return onlyCounts() ? nullptr
                        : context_.globals->mutableData(root.new_global(),
                                                        context_.rank);
  default:
    return nullptr; // an input: bind() knows
  }
}

RankProgramBuilder::Task &RankProgramBuilder::newTask(Task::Kind kind,
                                                      size_t instruction) {
  Task &task = out_.tasks_.emplace_back();
  task.kind = kind;
  task.instruction = instruction;
  return task;
}

/// Appends the operand `buffer` to the newest task.
void RankProgramBuilder::setOperand(uint32_t buffer) {
  std::vector<Task> &tasks = out_.tasks_;
  const pb::Buffer &root = program_.root(buffer);
  if (root.where_case() == pb::Buffer::kInput) {
    out_.inputPatches_.push_back(
        {tasks.size() - 1, tasks.back().operands.size(), root.input()});
  }
  tasks.back().operands.push_back(addressOf(buffer));
}

void RankProgramBuilder::setResult(uint32_t buffer) {
  Task &task = out_.tasks_.back();
  // Verified to lie in the arena or to be the new value of a global.
  task.results.push_back(const_cast<void *>(addressOf(buffer)));
  if (program_.root(buffer).has_new_global()) {
    StateBytes &bytes = out_.stateBytes_;
    (task.kind == Task::Kind::Copy ? bytes.copied : bytes.inPlace) +=
        placement(buffer).bytes(positionOf(placement(buffer)));
  }
}

Expected<AlignedBytes> RankProgramBuilder::stage(int64_t bytes) {
  out_.memory_.staging += bytes;
  return AlignedBytes::allocate(onlyCounts() ? 0 : bytes);
}

/// Before a kernel packs them, or a run reads them where they are mapped.
Status RankProgramBuilder::checkGlobals() const {
  for (const pb::Buffer &buffer : program_.message->buffers()) {
    if (buffer.where_case() == pb::Buffer::kGlobal) {
      Status status = context_.globals->check(buffer.global(), context_.rank);
      if (!status.isOk()) {
        return status;
      }
    }
  }
  return {};
}

/// Those of a body lie where its loop has them.
Status RankProgramBuilder::makeInputs() {
  if (entry_.isBody()) {
    return {};
  }
  constexpr int64_t alignment = 64; // what kernels are promised
  for (const pb::Buffer &buffer : program_.message->buffers()) {
    if (buffer.where_case() != pb::Buffer::kInput ||
        out_.inputs_.contains(buffer.input())) {
      continue;
    }
    const Placement &placement = *entry_.inputs[buffer.input()];
    const Box &box = placement.boxes[positionOf(placement)];
    RankProgram::ViewLayout whole;
    RankProgram::InputSlice slice{
        &placement, box, whole, whole.copyIn(placement, box), {}};
    if (slice.copy.bytes() != 0 &&
        (!slice.copy.isContiguous() ||
         slice.copy.sourceOffset() % alignment != 0)) {
      Expected<AlignedBytes> staging = stage(slice.copy.bytes());
      if (!staging) {
        return staging.status();
      }
      slice.staging = std::move(*staging);
    }
    out_.inputs_.emplace(buffer.input(), std::move(slice));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Copies, outputs
//===----------------------------------------------------------------------===//

void RankProgramBuilder::addCopy(const pb::Copy &copy, size_t instruction) {
  const void *result = addressOf(copy.result());
  if (addressOf(copy.source()) == result) {
    return;
  }
  Task &task = newTask(Task::Kind::Copy, instruction);
  task.copies.push_back(wholeCopy(copy.source()));
  setOperand(copy.source());
  setResult(copy.result());
}

/// Of an element that several ranks of the session hold, the first writes it,
/// so that no two threads write the same bytes.
void RankProgramBuilder::addOutput(const pb::Output &output,
                                   size_t instruction) {
  const Placement &at = placement(output.source());
  size_t position = positionOf(at);
  const std::vector<uint32_t> &devices =
      context_.resolved.grids[at.grid].devices;
  std::vector<Box> pieces = {at.boxes[position]}, rest;
  for (size_t p = 0; p < position; ++p) {
    if (!std::binary_search(context_.localRanks.begin(),
                            context_.localRanks.end(), devices[p])) {
      continue;
    }
    rest.clear();
    for (const Box &piece : pieces) {
      subtract(piece, at.boxes[p], rest);
    }
    std::swap(pieces, rest);
  }
  newTask(Task::Kind::Copy, instruction);
  setOperand(output.source());
  out_.tasks_.back().results.push_back(nullptr); // bind() knows
  out_.outputPatches_.push_back({out_.tasks_.size() - 1,
                                 output.output(),
                                 &at,
                                 at.boxes[position],
                                 std::move(pieces),
                                 {}});
}

Status RankProgramBuilder::addInstruction(int index) {
  const pb::Instruction &instruction = program_.message->instructions(index);
  switch (instruction.what_case()) {
  case pb::Instruction::kCall:
    return addCall(instruction.call(), index);
  case pb::Instruction::kCollective:
    return addCollective(instruction.collective(), index);
  case pb::Instruction::kTransfer:
    return addTransfer(instruction.transfer(), index);
  case pb::Instruction::kCopy:
    addCopy(instruction.copy(), index);
    return {};
  case pb::Instruction::kOutput:
    if (entry_.isBody()) {
      addBodyOutput(instruction.output(), index);
    } else {
      addOutput(instruction.output(), index);
    }
    return {};
  case pb::Instruction::kCommit:
    return addCommit(index);
  case pb::Instruction::kLoop:
    return addLoop(instruction.loop(), index);
  default:
    return makeError(ExitCode::Invalid, "unknown instruction");
  }
}

/// Puts what instruction `index` has become, the tasks from `firstTask` on, on
/// its queue. An instruction that has become none keeps its place there: what
/// it comes after must have ended for those that come after it.
void RankProgramBuilder::enqueue(int index, size_t firstTask) {
  const pb::Instruction &instruction = program_.message->instructions(index);
  auto number = static_cast<uint32_t>(queues_.size());
  uint32_t queue =
      queues_.try_emplace(instruction.queue(), number).first->second;
  if (queue == number) {
    out_.queues_.emplace_back();
  }
  if (firstTask == out_.tasks_.size()) {
    newTask(Task::Kind::Nothing, index);
  }
  for (uint32_t other : instruction.after()) {
    if (ends_[other].queue != queue) {
      out_.tasks_[firstTask].waits.push_back(ends_[other]);
    }
  }
  std::vector<size_t> &tasks = out_.queues_[queue].tasks;
  for (size_t task = firstTask; task < out_.tasks_.size(); ++task) {
    tasks.push_back(task);
  }
  ends_.push_back({queue, tasks.size()});
}

Status RankProgramBuilder::build() {
  out_.entry_ = &entry_;
  out_.programIndex_ = programIndex_;
  out_.rank_ = context_.rank;
  out_.state_ = context_.state;
  out_.local_ = std::lower_bound(context_.localRanks.begin(),
                                 context_.localRanks.end(), context_.rank) -
                context_.localRanks.begin();
  out_.communicator_ = context_.communicator;
  Status status = checkGlobals();
  if (status.isOk()) {
    status = makeInputs();
  }
  if (!status.isOk()) {
    return status;
  }
  for (int i = 0; i < program_.message->instructions_size(); ++i) {
    size_t firstTask = out_.tasks_.size();
    if (Status status = addInstruction(i); !status.isOk()) {
      return status.in(describeInstruction(entry_, programIndex_, i) +
                       ", rank " + std::to_string(context_.rank));
    }
    enqueue(i, firstTask);
  }
  out_.inFlight_.reserve(out_.queues_.size());
  if (context_.trace) {
    out_.events_.resize(out_.tasks_.size());
  }
  return addEndStep();
}

/// Of what an instruction becomes only calls and bodies have memory of their
/// own.
Status RankProgramBuilder::countMemory() {
  if (Status status = makeInputs(); !status.isOk()) {
    return status;
  }
  for (int i = 0; i < program_.message->instructions_size(); ++i) {
    const pb::Instruction &instruction = program_.message->instructions(i);
    Status status = instruction.has_call()   ? addInstruction(i)
                    : instruction.has_loop() ? countLoop(instruction.loop())
                                             : Status();
    if (!status.isOk()) {
      return status.in(describeInstruction(entry_, programIndex_, i) +
                       ", rank " + std::to_string(context_.rank));
    }
  }
  return {};
}

Expected<ProgramMemory> RankProgram::predict(const RankContext &context) {
  RankProgram program;
  Status status = RankProgramBuilder(context, program).countMemory();
  return status.isOk() ? Expected<ProgramMemory>(program.memory_) : status;
}

Expected<std::unique_ptr<RankProgram>>
RankProgram::prepare(const RankContext &context) {
  auto program = std::make_unique<RankProgram>();
  Status status = RankProgramBuilder(context, *program).build();
  if (!status.isOk()) {
    return status;
  }
  return program;
}
