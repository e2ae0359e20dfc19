//===- RankProgram.cpp - Walking one rank's instructions ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankLoop.h"

#include <algorithm>
#include <chrono>
#include <tuple>

using namespace divisi;
using namespace divisi::rt;

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void RankProgram::setExtraWorkspace(void *workspace) {
  for (Task &task : tasks_) {
    if (task.wantsExtraWorkspace) {
      task.workspace = workspace;
    } else if (task.loop) {
      task.loop->body->setExtraWorkspace(workspace);
    }
  }
}

std::string RankProgram::locationAt(size_t instruction) const {
  return describeInstruction(*entry_, programIndex_, instruction) + ", rank " +
         std::to_string(rank_);
}

std::string RankProgram::nodeAt(size_t instruction) const {
  const artifact::Instruction &message =
      entry_->programs[programIndex_].message->instructions(
          static_cast<int>(instruction));
  const std::string &node = message.location();
  return (node.empty() ? "instruction " + std::to_string(instruction)
                       : "node '" + node + "'") +
         " (" + (message.has_loop() ? "nn.loop" : message.call().op()) + ")";
}

std::string RankProgram::locationOf(uint64_t progress) const {
  const RankProgram *inner = inner_.load(std::memory_order_relaxed);
  return inner ? inner->locationOf(progress)
               : locationAt(tasks_[progress / 2 % tasks_.size()].instruction);
}

Status RankProgram::launch(Task &task) {
  LaunchContext context{task.operands, task.results, task.workspace};
  Status status = task.kernel->launch(context);
  if (context.badIndex && !indexFault_) {
    indexFault_ = {{task.instruction},
                   nodeAt(task.instruction),
                   std::move(*context.badIndex)};
  }
  return status.isOk() ? status : status.in(locationAt(task.instruction));
}

Status RankProgram::firstFault(
    std::span<const std::unique_ptr<RankProgram>> programs) {
  const RankProgram *first = nullptr;
  auto key = [](const RankProgram &program) {
    const IndexFault &fault = *program.indexFault_;
    return std::tie(fault.at, fault.index.position);
  };
  for (const auto &program : programs) {
    if (program && program->indexFault_ &&
        (!first || key(*program) < key(*first))) {
      first = program.get();
    }
  }
  if (!first) {
    return {};
  }
  const auto &[at, where, index] = *first->indexFault_;
  return makeError(ExitCode::Invalid, where, ": ", index.message());
}

Status RankProgram::runTask(Task &task) {
  switch (task.kind) {
  case Task::Kind::Call:
    return launch(task);
  case Task::Kind::Loop:
    return runLoop(task);
  case Task::Kind::Comm:
  case Task::Kind::Nothing:
    break;
  case Task::Kind::Copy:
    for (const BoxCopy &copy : task.copies) {
      copy.run(static_cast<const std::byte *>(task.operands[0]),
               static_cast<std::byte *>(task.results[0]));
    }
    break;
  case Task::Kind::Fill:
    fillNeutral(task.fillType, task.fillKind, task.results[0], task.fillCount);
    break;
  }
  return {};
}

Status RankProgram::runAt(size_t index) {
  // A loop works where its body does.
  bool works = tasks_[index].kind != Task::Kind::Loop;
  uint64_t progress = progressBase_ + 2 * index;
  progress_.store(progress + (works ? 1 : 0), std::memory_order_relaxed);
  if (!events_.empty()) {
    events_[index].begin = now();
  }
  Status status = runTask(tasks_[index]);
  if (!events_.empty()) {
    events_[index].end = now();
  }
  progress_.store(progress + 2, std::memory_order_relaxed);
  return status;
}

bool RankProgram::isReady(const Task &task) const {
  return std::all_of(task.waits.begin(), task.waits.end(),
                     [this](const Task::Wait &wait) {
                       return queues_[wait.queue].done >= wait.tasks;
                     });
}

/// Goes on with the next task of the queue, which is not over; returns whether
/// anything changed.
Expected<bool> RankProgram::advance(Queue &queue) {
  size_t index = queue.next();
  if (tasks_[index].kind == Task::Kind::Comm) {
    return advanceComm(queue);
  }
  if (!isReady(tasks_[index])) {
    return false;
  }
  if (state_->isGivenUp.load(std::memory_order_relaxed)) {
    return kernelFailure();
  }
  Status status = runAt(index);
  ++queue.done;
  return status.isOk() ? Expected<bool>(true) : status;
}

Expected<bool> RankProgram::advanceComm(Queue &queue) {
  size_t index = queue.next();
  Task &task = tasks_[index];
  bool starts = !queue.isInFlight;
  if (starts) {
    if (!isReady(task)) {
      return false;
    }
    if (!events_.empty()) {
      events_[index].begin = now();
    }
    if (index == commit_) {
      commitVote_ = indexFault_.has_value();
    }
    Status status = task.comm->start(task.operands[0], task.results[0]);
    if (!status.isOk()) {
      return status;
    }
  }
  Expected<bool> isDone = task.comm->poll();
  queue.isInFlight = isDone && !*isDone;
  if (queue.isInFlight || !isDone) {
    return isDone ? Expected<bool>(starts) : isDone;
  }
  if (!events_.empty()) {
    events_[index].end = now();
  }
  ++queue.done;
  if (index == commit_) {
    hasCommitted_ = !isStopped_;
    if (hasCommitted_) {
      state_->hasCommitted.store(true, std::memory_order_relaxed);
    }
  }
  return true;
}

void RankProgram::waitForOthers() {
  inFlight_.clear();
  for (Queue &queue : queues_) {
    if (queue.isInFlight) {
      inFlight_.push_back(tasks_[queue.next()].comm.get());
    }
  }
  // Not empty: the first of the list that has not ended waits for no task.
  communicator_->wait(inFlight_);
}

/// One task of each queue where a step is next, or of each where none is.
Expected<bool> RankProgram::advanceAll(bool steps) {
  bool moved = false;
  for (Queue &queue : queues_) {
    if (queue.isOver() ||
        steps != (tasks_[queue.next()].kind == Task::Kind::Comm)) {
      continue;
    }
    Expected<bool> advanced = advance(queue);
    if (!advanced || isStopped_) {
      return advanced;
    }
    moved |= *advanced;
  }
  return moved;
}

/// Steps go on before a kernel is begun: what is next on a link is not kept
/// waiting by it.
Status RankProgram::drainQueues() {
  for (Queue &queue : queues_) {
    queue.done = 0;
    queue.isInFlight = false;
  }
  while (!std::all_of(queues_.begin(), queues_.end(),
                      [](const Queue &queue) { return queue.isOver(); })) {
    bool moved = false;
    for (bool steps : {true, false}) {
      Expected<bool> advanced = moved ? moved : advanceAll(steps);
      if (!advanced) {
        return advanced.status();
      }
      moved = *advanced;
      if (isStopped_) {
        return {};
      }
    }
    if (!moved) {
      waitForOthers();
    }
  }
  return {};
}

Status RankProgram::run() {
  indexFault_.reset();
  hasCommitted_ = isStopped_ = othersFault_ = false;
  Status status = drainQueues();
  if (!status.isOk() || isStopped_ || !endStep_) {
    return status;
  }
  bool ownFault = indexFault_.has_value();
  return runStep(*communicator_, *endStep_, &ownFault, &othersFault_);
}
