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

/// Null while memory is only counted.
std::byte *RankProgramBuilder::arena(uint32_t space) const {
  return onlyCounts()      ? nullptr
         : entry_.isBody() ? context_.bodyArenas[space]
                           : (*context_.spaces)[space].arena->data();
}

std::byte *RankProgramBuilder::globalOnDevice(uint32_t space,
                                              uint32_t global) const {
  return (*context_.spaces)[space].globals.at(global)->data();
}

const std::byte *RankProgramBuilder::bringGlobal(uint32_t global) {
  Status status = context_.globals->acquire(global, context_.rank);
  if (!status.isOk()) {
    globalsStatus_ = globalsStatus_.isOk() ? status : globalsStatus_;
    return nullptr;
  }
  return context_.globals->data(global, context_.rank);
}

/// Makes the program a reader of the global that it names.
const void *RankProgramBuilder::addressOf(uint32_t buffer) {
  const void *root = addressOfRoot(program_.root(buffer));
  return root && !onlyCounts() ? static_cast<const std::byte *>(root) +
                                     program_.buffers[buffer].offset
                               : root;
}

/// The same of a buffer that is no view.
const void *RankProgramBuilder::addressOfRoot(const pb::Buffer &root) {
  switch (root.where_case()) {
  case pb::Buffer::kArenaOffset:
    return arena(root.space()) + root.arena_offset();
  case pb::Buffer::kGlobal:
    if (onlyCounts()) {
      return &context_; // any address: there are no bytes yet
    }
    return root.space() != hostSpaceNumber
               ? globalOnDevice(root.space(), root.global())
               : bringGlobal(root.global());
  case pb::Buffer::kNewGlobal:
    return onlyCounts() ? nullptr
           : root.space() != hostSpaceNumber
               ? globalOnDevice(root.space(), root.new_global())
               : context_.globals->mutableData(root.new_global(),
                                               context_.rank);
  default:
    return nullptr; // an input: bind() knows
  }
}

RankProgramBuilder::Task &RankProgramBuilder::newTask(Task::Kind kind,
                                                      size_t instruction) {
  Task &task = out_.list_.tasks.emplace_back();
  task.kind = kind;
  task.instruction = instruction;
  return task;
}

/// Says who does the task.
void RankProgramBuilder::setSpace(Task &task, uint32_t space) {
  task.space = space;
  if (!onlyCounts()) {
    task.device = (*context_.spaces)[space].device.get();
  }
}

TensorInfo RankProgramBuilder::infoOf(uint32_t buffer) const {
  TensorInfo info = placement(buffer).info(positionOf(placement(buffer)));
  info.format = program_.root(buffer).format();
  return info;
}

/// Notes that the newest task names `buffer`.
void RankProgramBuilder::mention(uint32_t buffer, bool isResult, size_t index) {
  if (program_.root(buffer).has_arena_offset()) {
    const ResolvedBuffer &resolved = program_.buffers[buffer];
    mentions_[resolved.root].push_back(
        {out_.list_.tasks.size() - 1, isResult, index, resolved.offset});
  }
}

/// Notes the global that `buffer` is part of, if the host has it.
void RankProgramBuilder::noteRead(uint32_t buffer) {
  const pb::Buffer &root = program_.root(buffer);
  if (root.has_global() && root.space() == hostSpaceNumber) {
    out_.memory_.globals.insert(root.global());
  }
}

/// What an instruction reads that is no call.
void RankProgramBuilder::noteReads(const pb::Instruction &instruction) {
  for (uint32_t buffer : movedBuffers(instruction)) {
    noteRead(buffer);
  }
  if (instruction.has_loop()) {
    const pb::Loop &loop = instruction.loop();
    noteRead(loop.count());
    for (const auto *buffers : {&loop.carried(), &loop.given()}) {
      std::for_each(buffers->begin(), buffers->end(),
                    [&](uint32_t buffer) { noteRead(buffer); });
    }
  }
}

/// The input in whose place `root` is.
static std::optional<uint32_t> inputOf(const pb::Buffer &root) {
  return root.has_input()       ? std::optional(root.input())
         : root.has_new_input() ? std::optional(root.new_input())
                                : std::nullopt;
}

/// Appends the operand `buffer` to the newest task.
void RankProgramBuilder::setOperand(uint32_t buffer) {
  std::vector<Task> &tasks = out_.list_.tasks;
  const pb::Buffer &root = program_.root(buffer);
  if (std::optional<uint32_t> input = inputOf(root)) {
    out_.binder_.addInputUse(*input, tasks.size() - 1,
                             tasks.back().operands.size(),
                             program_.buffers[buffer].offset);
  }
  mention(buffer, /*isResult=*/false, tasks.back().operands.size());
  tasks.back().operands.push_back(addressOf(buffer));
}

void RankProgramBuilder::setResult(uint32_t buffer) {
  Task &task = out_.list_.tasks.back();
  mention(buffer, /*isResult=*/true, task.results.size());
  // Verified to lie in an arena, or to be the new value of a global or input.
  if (program_.root(buffer).has_new_input()) {
    out_.binder_.addNewInput(program_.root(buffer).new_input(),
                             out_.list_.tasks.size() - 1, task.results.size());
  }
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

/// Those of a body lie where its loop has them.
Status RankProgramBuilder::makeInputs() {
  if (entry_.isBody()) {
    return {};
  }
  for (const pb::Buffer &buffer : program_.message->buffers()) {
    if (buffer.where_case() != pb::Buffer::kInput ||
        out_.binder_.hasInput(buffer.input())) {
      continue;
    }
    const Placement &placement = *entry_.inputs[buffer.input()];
    int64_t bytes = out_.binder_.addInput(
        buffer.input(), placement, placement.boxes[positionOf(placement)]);
    if (bytes != 0) {
      Expected<AlignedBytes> staging = stage(bytes);
      if (!staging) {
        return staging.status();
      }
      out_.binder_.giveStaging(buffer.input(), std::move(*staging));
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Copies, outputs
//===----------------------------------------------------------------------===//

void RankProgramBuilder::addCopy(const pb::Copy &copy, size_t instruction) {
  const void *result = addressOf(copy.result());
  if (addressOf(copy.source()) == result) {
    sharing_.insert(program_.buffers[copy.source()].root);
    sharing_.insert(program_.buffers[copy.result()].root);
    return;
  }
  Task &task = newTask(Task::Kind::Copy, instruction);
  task.copies.push_back(wholeCopy(copy.source()));
  uint32_t from = program_.space(copy.source());
  uint32_t to = program_.space(copy.result());
  setSpace(task, std::max(from, to)); // the host's is 0
  for (uint32_t buffer : {copy.source(), copy.result()}) {
    const pb::Buffer &root = program_.root(buffer);
    task.isPageable |= root.space() == hostSpaceNumber && from != to &&
                       (root.has_global() || root.has_new_global());
  }
  if (from != to) {
    ++out_.spaceCopies_.copies;
    out_.spaceCopies_.bytes += task.copies.front().bytes();
  }
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
  setSpace(newTask(Task::Kind::Copy, instruction), hostSpaceNumber);
  setOperand(output.source());
  out_.list_.tasks.back().results.push_back(nullptr); // bind() knows
  out_.binder_.addOutput({out_.list_.tasks.size() - 1, output.output(), &at,
                          at.boxes[position], std::move(pieces)});
}

/// Whether a device writes to the host there. It does so while others work only
/// where memory is pinned, as the arena's is and the caller's is not.
bool RankProgramBuilder::isWrittenByDevice(
    const std::vector<BufferMention> &mentions) const {
  return std::ranges::any_of(mentions, [&](const BufferMention &mention) {
    return mention.isResult && out_.list_.tasks[mention.task].queue;
  });
}

/// Lets outputs that come from an arena be computed where the caller has them:
/// if all of the rank's box is given out, which is all of the buffer, and no
/// other buffer has those bytes without a copy. Of several outputs of one
/// buffer the first is.
void RankProgramBuilder::writeOutputsInPlace() {
  for (OutputPatch &patch : out_.binder_.outputs()) {
    const Task &task = out_.list_.tasks[patch.task];
    const pb::Output &output =
        program_.message->instructions(static_cast<int>(task.instruction))
            .output();
    uint32_t root = program_.buffers[output.source()].root;
    auto found = mentions_.find(root);
    bool isWhole =
        patch.pieces.size() == 1 && patch.pieces.front() == patch.box;
    if (found != mentions_.end() && isWhole && !patch.box.empty() &&
        program_.buffers[output.source()].isWhole && !sharing_.contains(root) &&
        !isWrittenByDevice(found->second)) {
      patch.arena =
          static_cast<std::byte *>(const_cast<void *>(task.operands.front()));
      patch.present = patch.arena;
      patch.mentions = std::move(found->second);
      mentions_.erase(found);
    }
  }
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
Status RankProgramBuilder::enqueue(int index, size_t firstTask) {
  const pb::Instruction &instruction = program_.message->instructions(index);
  auto number = static_cast<uint32_t>(queues_.size());
  uint32_t queue =
      queues_.try_emplace(instruction.queue(), number).first->second;
  if (queue == number) {
    out_.scheduler_.addQueue();
  }
  if (firstTask == out_.list_.tasks.size()) {
    newTask(Task::Kind::Nothing, index);
  }
  for (uint32_t other : instruction.after()) {
    if (ends_[other].queue != queue) {
      out_.list_.tasks[firstTask].waits.push_back(ends_[other]);
    }
  }
  size_t length = 0;
  for (size_t task = firstTask; task < out_.list_.tasks.size(); ++task) {
    length = out_.scheduler_.append(queue, task);
    noteMessages(index, out_.list_.tasks[task].messageBytes());
    Status status = putOnDevice(out_.list_.tasks[task], queue);
    if (!status.isOk()) {
      return status;
    }
  }
  ends_.push_back({queue, length});
  limitQueued(out_.list_.tasks[firstTask]);
  return {};
}

/// Gives the task the queue of its device that stands for `queue`.
Status RankProgramBuilder::putOnDevice(Task &task, uint32_t queue) {
  if (!task.device || task.device->isImmediate()) {
    return {};
  }
  std::unique_ptr<DeviceQueue> &slot =
      out_.list_.deviceQueues[{queue, task.space}];
  if (!slot) {
    auto made = task.device->makeQueue();
    if (!made) {
      return made.status();
    }
    slot = std::move(*made);
  }
  task.queue = slot.get();
  auto ended = task.device->makeEvent();
  if (ended) {
    task.ended = std::move(*ended);
  }
  return ended.status();
}

Status RankProgramBuilder::build() {
  for (const RankSpace &space : *context_.spaces) {
    out_.list_.devices.push_back(space.device);
  }
  if (Status status = makeInputs(); !status.isOk()) {
    return status;
  }
  for (int i = 0; i < program_.message->instructions_size(); ++i) {
    size_t firstTask = out_.list_.tasks.size();
    noteReads(program_.message->instructions(i));
    Status status = addInstruction(i);
    if (status.isOk()) {
      status = globalsStatus_;
    }
    if (status.isOk()) {
      status = enqueue(i, firstTask);
    }
    if (!status.isOk()) {
      return status.in(describeInstruction(entry_, programIndex_, i) +
                       ", rank " + std::to_string(context_.rank));
    }
  }
  writeOutputsInPlace();
  if (Status status = placeMessages(); !status.isOk()) {
    return status;
  }
  out_.scheduler_.finishBuilding();
  noteQueuedRanks();
  if (context_.usesGraphs && !context_.trace && !entry_.isBody()) {
    if (Status status = out_.planGraph(); !status.isOk()) {
      return status;
    }
  }
  if (context_.trace) {
    out_.runner_.trace();
  }
  return addEndStep();
}

/// Of what an instruction becomes only calls, bodies and steps have memory of
/// their own.
Status RankProgramBuilder::countMemory() {
  if (Status status = makeInputs(); !status.isOk()) {
    return status;
  }
  for (int i = 0; i < program_.message->instructions_size(); ++i) {
    const pb::Instruction &instruction = program_.message->instructions(i);
    Status status = instruction.has_call()   ? countCall(instruction.call())
                    : instruction.has_loop() ? countLoop(instruction.loop())
                                             : Status();
    noteReads(instruction);
    noteMessages(i, messagesOf(i));
    if (!status.isOk()) {
      return status.in(describeInstruction(entry_, programIndex_, i) +
                       ", rank " + std::to_string(context_.rank));
    }
  }
  countEnd();
  return placeMessages();
}

Expected<std::unique_ptr<RankProgram>>
RankProgram::prepare(const RankContext &context) {
  std::unique_ptr<RankProgram> program(new RankProgram(context));
  Status status = RankProgramBuilder(context, *program).build();
  if (!status.isOk()) {
    return status;
  }
  return program;
}
