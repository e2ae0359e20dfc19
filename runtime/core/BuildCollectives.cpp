//===- BuildCollectives.cpp - A rank's share of collectives ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/StepShape.h"
#include "runtime/core/RankProgramBuilder.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// A step that the host does with others.
Status RankProgramBuilder::addMet(const OwnStep &own, Task &task) {
  Expected<std::unique_ptr<CommStep>> comm =
      context_.communicator->prepare(own.step, own.self);
  if (comm) {
    task.comm = std::move(*comm);
  }
  return comm.status();
}

/// One that the devices do.
Status RankProgramBuilder::addQueued(const OwnStep &own, uint32_t space,
                                     Task &task) {
  std::string_view name = nameOfSpace(*context_.resolved.manifest, space);
  if (!context_.communicator->reaches(name)) {
    return makeError(ExitCode::Unsupported,
                     "the communicator does not reach memory space '", name,
                     "'");
  }
  setSpace(task, space);
  Expected<std::unique_ptr<QueuedStep>> step =
      context_.communicator->prepareQueued(own.step, own.self, *task.device);
  if (step) {
    task.queued = std::move(*step);
  }
  return step.status();
}

/// A step of devices, which has just been put on its queue, begins when all but
/// the last of those before it in the list have ended, and all that the host
/// does with others before it: a rank that begins one may do nothing else until
/// others begin it, too.
void RankProgramBuilder::limitQueued(Task &task) {
  uint32_t queue = ends_.back().queue;
  if (task.isStep()) {
    met_[queue] = ends_.back();
  }
  if (!task.queued) {
    return;
  }
  out_.hasQueued_ = true;
  task.number = queued_.size();
  constexpr size_t most = mostQueued;
  if (task.number >= most) {
    const Task::Wait &before = queued_[task.number - most];
    if (before.queue != queue) {
      task.waits.push_back(before);
    }
  }
  for (const auto &[other, end] : met_) {
    if (other != queue) {
      task.waits.push_back(end);
    }
  }
  queued_.push_back(ends_.back());
}

/// All ranks of the entry, or body, connect their devices, if some program of
/// it has steps between these.
void RankProgramBuilder::noteQueuedRanks() {
  if (std::ranges::any_of(entry_.programs, hasQueued)) {
    for (const auto &[rank, program] : entry_.programOfRank) {
      out_.queuedRanks_.push_back(rank);
    }
  }
}

Status RankProgramBuilder::addComm(OwnStep own, uint32_t tag,
                                   const std::string &what,
                                   std::optional<uint32_t> source,
                                   std::optional<uint32_t> result,
                                   size_t instruction) {
  uint32_t space = program_.space(source ? *source : *result);
  own.step.entry = static_cast<uint32_t>(context_.entryIndex);
  own.step.tag = tag;
  own.step.location = what + " of '" + locationOf(instruction) + "'";
  Task &task = newTask(Task::Kind::Comm, instruction);
  Status status = space == hostSpaceNumber ? addMet(own, task)
                                           : addQueued(own, space, task);
  if (!status.isOk()) {
    return status;
  }
  CollectiveUse &use = out_.collectives_[what];
  ++use.steps;
  use.queued += task.queued != nullptr;
  use.bytes += bytesGiven(own.step, own.self);
  if (source) {
    setOperand(*source);
  } else {
    task.operands.push_back(nullptr);
  }
  if (result) {
    setResult(*result);
  } else {
    task.results.push_back(nullptr);
  }
  return {};
}

Status RankProgramBuilder::addCollective(const pb::Collective &collective,
                                         size_t instruction) {
  CollectiveKind kind = *parseCollectiveKind(collective.kind());
  std::vector<uint32_t> axes(collective.axes().begin(),
                             collective.axes().end());
  if (isLocal(kind)) {
    return addLocal(kind, axes, collective, instruction);
  }
  return addComm(stepOf(collective), collective.tag(), collective.kind(),
                 collective.source(), collective.result(), instruction);
}

Status RankProgramBuilder::addLocal(CollectiveKind kind,
                                    std::span<const uint32_t> axes,
                                    const pb::Collective &collective,
                                    size_t instruction) {
  const Placement &result = placement(collective.result());
  const Box &box = boxOf(collective.result());
  const GridInfo &grid = context_.resolved.grids[result.grid];
  if (kind == CollectiveKind::Mask &&
      isMasked(grid, axes, positionOf(result))) {
    Task &task = newTask(Task::Kind::Fill, instruction);
    setSpace(task, program_.space(collective.result()));
    task.fillType = result.type;
    task.fillKind = result.partialKind;
    task.fillCount = box.count();
    setResult(collective.result());
    return {};
  }
  Task &task = newTask(Task::Kind::Copy, instruction);
  setSpace(task, program_.space(collective.result()));
  const std::string &format = program_.root(collective.source()).format();
  Box stored = storedIn(format, box);
  task.copies.emplace_back(byteWidth(result.type), stored,
                           storedIn(format, boxOf(collective.source())),
                           stored);
  setOperand(collective.source());
  setResult(collective.result());
  return {};
}

Status RankProgramBuilder::addTransfer(const pb::Transfer &transfer,
                                       size_t instruction) {
  std::optional<uint32_t> source, result;
  if (transfer.has_source()) {
    source = transfer.source();
  }
  if (transfer.has_result()) {
    result = transfer.result();
  }
  return addComm(stepOfTransfer(instruction), transfer.tag(), "transfer",
                 source, result, instruction);
}

/// A step of all ranks of an entry, which combines `count` elements of each.
OwnStep RankProgramBuilder::stepOfAll(size_t entryIndex, DType type,
                                      ReduceKind reduce, int64_t count) const {
  OwnStep own;
  own.step.type = type;
  own.step.reduce = reduce;
  Box box = Box::whole({count});
  for (const auto &[rank, program] :
       context_.resolved.entries[entryIndex].programOfRank) {
    if (rank == context_.rank) {
      own.self = own.step.parties.size();
    }
    own.step.parties.push_back({rank, box, box});
  }
  return own;
}

/// `number` tells several of an entry apart.
Expected<std::unique_ptr<CommStep>>
RankProgramBuilder::prepareForAll(size_t entryIndex, uint32_t number,
                                  const std::string &what, DType type,
                                  ReduceKind reduce, int64_t count) {
  const ResolvedEntry &entry = context_.resolved.entries[entryIndex];
  OwnStep own = stepOfAll(entryIndex, type, reduce, count);
  // Behind the entries' own numbers: no tag of theirs can be met.
  own.step.entry =
      static_cast<uint32_t>(context_.resolved.entries.size() + entryIndex);
  own.step.tag = number;
  own.step.location = what + " of entry '" + entry.message->name() + "'";
  return context_.communicator->prepare(own.step, own.self);
}

/// A step in which each rank of the entry says yes or no, and learns whether
/// anybody has said yes.
Expected<std::unique_ptr<CommStep>>
RankProgramBuilder::prepareVote(uint32_t number, const std::string &what) {
  return prepareForAll(context_.entryIndex, number, what, DType::Bool,
                       ReduceKind::Or, 1);
}

Status RankProgramBuilder::addCommit(size_t instruction) {
  Expected<std::unique_ptr<CommStep>> comm = prepareVote(0, "the commit");
  if (!comm) {
    return comm.status();
  }
  Task &task = newTask(Task::Kind::Comm, instruction);
  task.comm = std::move(*comm);
  out_.scheduler_.setCommit(out_.list_.tasks.size() - 1);
  return {};
}

/// Where ranks of other sessions may meet a bad index, all learn of it at the
/// end.
Status RankProgramBuilder::addEndStep() {
  if (context_.communicator->sendsMessages()) {
    countEnd();
  }
  if (entry_.isBody() ||
      context_.localRanks.size() == context_.resolved.manifest->num_ranks() ||
      entry_.programOfRank.size() == 1) {
    return {};
  }
  Expected<std::unique_ptr<CommStep>> comm = prepareVote(1, "the end");
  if (!comm) {
    return comm.status();
  }
  out_.endStep_ = std::move(*comm);
  return {};
}
