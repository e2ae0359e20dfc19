//===- RankProgram.cpp - Walking one rank's instructions ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Clock.h"
#include "runtime/core/RankGraph.h"
#include "runtime/core/RankLoop.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>

using namespace divisi;
using namespace divisi::rt;

RankProgram::RankProgram() = default;
RankProgram::~RankProgram() = default;

void RankProgram::setWorkspaces(const RankSpaces &spaces) {
  auto give = [&](const auto &step, int64_t at,
                  uint32_t space = hostSpaceNumber) {
    if (step && step->workspaceBytes() != 0) {
      step->setWorkspace(spaces[space].messages->data() + at);
    }
  };
  for (Task &task : tasks_) {
    give(task.comm, task.messagesAt);
    give(task.queued, task.messagesAt, task.space);
    if (task.wantsExtraWorkspace) {
      task.workspace = spaces[task.space].workspace->data();
    } else if (task.loop) {
      give(task.loop->agreement, 0);
      task.loop->body->setWorkspaces(spaces);
    }
  }
  give(endStep_, 0);
}

void RankProgram::noteFault(const Task &task, LaunchContext &context) {
  if (context.badIndex && !indexFault_) {
    indexFault_ = {{task.instruction},
                   nodeAt(task.instruction),
                   std::move(*context.badIndex)};
  }
}

Status RankProgram::launch(Task &task) {
  LaunchContext context{task.operands, task.results, task.workspace, threads_,
                        task.queue};
  Status status = task.kernel->launch(context);
  noteFault(task, context);
  return status;
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
    return task.queued->put(*task.queue, task.operands[0], task.results[0]);
  case Task::Kind::Nothing:
    break;
  case Task::Kind::Copy:
    if (task.isSkipped) {
      break;
    }
    for (const BoxCopy &copy : task.copies) {
      Status status = task.device->copyBox(task.queue, copy, task.operands[0],
                                           task.results[0]);
      if (!status.isOk()) {
        return status;
      }
    }
    break;
  case Task::Kind::Fill:
    return task.device->fill(task.queue, task.fillType, task.fillKind,
                             task.results[0], task.fillCount);
  }
  return {};
}

Status RankProgram::runAt(size_t index) {
  // A loop works where its body does.
  bool works = tasks_[index].kind != Task::Kind::Loop;
  uint64_t progress = progressBase_ + 2 * index;
  progress_.store(progress + (works ? 1 : 0), std::memory_order_relaxed);
  if (!events_.empty()) {
    events_[index].begin = steadyNanoseconds();
  }
  Status status = runTask(tasks_[index]);
  if (!events_.empty()) {
    events_[index].end = steadyNanoseconds();
  }
  progress_.store(progress + 2, std::memory_order_relaxed);
  return status.isOk() || !works ? status : status.in(whereIs(tasks_[index]));
}

/// Whether the device of `task` can be told to wait: what it waits for has
/// begun in a queue of the same device.
bool RankProgram::canWaitThere(const Task &task, const Task::Wait &wait) const {
  const Queue &other = queues_[wait.queue];
  return task.queue && other.begun >= wait.tasks &&
         tasks_[other.tasks[wait.tasks - 1]].device == task.device;
}

bool RankProgram::mayBegin(const Queue &queue, const Task &task) const {
  if (queue.isInFlight() &&
      !(task.queue &&
        tasks_[queue.tasks[queue.begun - 1]].device == task.device)) {
    return false;
  }
  // One order of the list, not that in which ranks happen to come to them.
  if (task.queued && task.number != numQueued_) {
    return false;
  }
  return std::all_of(task.waits.begin(), task.waits.end(),
                     [&](const Task::Wait &wait) {
                       return queues_[wait.queue].done >= wait.tasks ||
                              canWaitThere(task, wait);
                     });
}

/// Whether all that `task` comes after has ended, beside its queue.
bool RankProgram::isNext(const Task &task) const {
  return std::ranges::all_of(task.waits, [&](const Task::Wait &wait) {
    return queues_[wait.queue].done >= wait.tasks;
  });
}

Status RankProgram::beginOnDevice(size_t index) {
  Task &task = tasks_[index];
  for (const Task::Wait &wait : task.waits) {
    const Queue &other = queues_[wait.queue];
    if (other.done < wait.tasks) {
      Status status = task.device->wait(
          *task.queue, *tasks_[other.tasks[wait.tasks - 1]].ended);
      if (!status.isOk()) {
        return status;
      }
    }
  }
  if (task.queued) {
    noteStep(index, /*isDone=*/false);
    ++numQueued_;
  }
  Status status = runAt(index);
  return status.isOk() ? task.device->record(*task.queue, *task.ended) : status;
}

/// Looks which tasks that a device does have ended.
Expected<bool> RankProgram::collectEnded(Queue &queue) {
  bool moved = false;
  while (queue.isInFlight()) {
    Task &task = tasks_[queue.next()];
    Expected<bool> hasEnded = task.device->poll(*task.ended);
    if (!hasEnded) {
      return hasEnded.status().in(whereIs(task));
    }
    if (!*hasEnded) {
      Status status = task.queued ? task.queued->check(isNext(task)) : Status();
      if (!status.isOk()) {
        return status;
      }
      break;
    }
    if (task.queued) {
      noteStep(queue.next(), /*isDone=*/true);
    }
    if (task.kind == Task::Kind::Call) {
      LaunchContext context{};
      task.kernel->collect(context);
      noteFault(task, context);
    }
    if (!events_.empty()) {
      events_[queue.next()].end = steadyNanoseconds();
    }
    ++queue.done;
    moved = true;
  }
  return moved;
}

/// After a failure: until no device touches memory of the run any more. A step
/// that waits for others is ended first.
void RankProgram::awaitDevices() {
  bool isInStep = std::ranges::any_of(queues_, [&](const Queue &queue) {
    auto begun = std::span(queue.tasks).first(queue.begun);
    return std::ranges::any_of(begun.subspan(queue.done), [&](size_t index) {
      return tasks_[index].queued != nullptr;
    });
  });
  if (isInStep) {
    communicator_->endQueued(rank_);
  }
  for (Queue &queue : queues_) {
    while (queue.isInFlight() && tasks_[queue.next()].ended) {
      progress_.store(progressBase_ + 2 * queue.next() + 1,
                      std::memory_order_relaxed);
      Task &task = tasks_[queue.next()];
      (void)finish(*task.device, *task.ended); // nothing is worse than failed
      ++queue.done;
    }
  }
}

/// Goes on with the next tasks of the queue, which is not over; returns whether
/// anything changed.
Expected<bool> RankProgram::advance(Queue &queue) {
  if (tasks_[queue.next()].isStep()) {
    return advanceComm(queue);
  }
  Expected<bool> moved = false;
  if (queue.isInFlight()) {
    moved = collectEnded(queue);
  }
  if (!moved || queue.begun == queue.tasks.size()) {
    return moved;
  }
  size_t index = queue.tasks[queue.begun];
  // A step has its turn when it is the next that has not ended.
  if (tasks_[index].isStep() || !mayBegin(queue, tasks_[index])) {
    return moved;
  }
  if (state_->isGivenUp.load(std::memory_order_relaxed)) {
    return kernelFailure();
  }
  Status status = tasks_[index].queue ? beginOnDevice(index) : runAt(index);
  if (!status.isOk()) {
    return status;
  }
  ++queue.begun;
  if (!tasks_[index].queue) {
    queue.done = queue.begun;
  }
  return true;
}

/// That the rank has come to a step, or that this is done.
void RankProgram::noteStep(size_t index, bool isDone) {
  int64_t time = steadyNanoseconds();
  if (index == tasks_.size()) { // the last one, which is no task
    return lastSteps_->note(entryIndex_, LastSteps::endOfEntry, isDone, time);
  }
  lastSteps_->note(entryIndex_, tasks_[index].instruction, isDone, time);
  if (!events_.empty()) {
    (isDone ? events_[index].end : events_[index].begin) = time;
  }
}

Expected<bool> RankProgram::advanceComm(Queue &queue) {
  size_t index = queue.next();
  Task &task = tasks_[index];
  bool starts = !queue.isInFlight();
  if (starts) {
    if (!mayBegin(queue, task)) {
      return false;
    }
    noteStep(index, /*isDone=*/false);
    if (index == commit_) {
      commitVote_ = indexFault_.has_value();
    }
    Status status = task.comm->start(task.operands[0], task.results[0]);
    if (!status.isOk()) {
      return status;
    }
    ++queue.begun;
  }
  Expected<bool> isDone = task.comm->poll();
  if (!isDone || !*isDone) {
    return isDone ? Expected<bool>(starts) : isDone;
  }
  noteStep(index, /*isDone=*/true);
  ++queue.done;
  if (index == commit_) {
    hasCommitted_ = !isStopped_;
    if (hasCommitted_) {
      state_->hasCommitted.store(true, std::memory_order_relaxed);
    }
  }
  return true;
}

/// Something is in flight: the first of the list that has not ended waits for
/// no task. A device cannot wake who waits for it.
Status RankProgram::waitForOthers() {
  inFlight_.clear();
  bool isOnDevice = false, works = false;
  for (Queue &queue : queues_) {
    if (!queue.isInFlight()) {
      continue;
    }
    const Task &task = tasks_[queue.next()];
    if (task.isStep()) {
      inFlight_.push_back(task.comm.get());
      continue;
    }
    isOnDevice = true;
    if (!task.queued && isNext(task)) {
      progress_.store(progressBase_ + 2 * queue.next() + 1,
                      std::memory_order_relaxed);
      works = true;
    }
  }
  if (isOnDevice && state_->isGivenUp.load(std::memory_order_relaxed)) {
    return kernelFailure();
  }
  if (!works) { // it waits, for as long as a step may
    uint64_t last = progress_.load(std::memory_order_relaxed);
    progress_.store(last - last % 2, std::memory_order_relaxed);
  }
  int64_t begin = steadyNanoseconds();
  if (isOnDevice) {
    constexpr std::chrono::microseconds pause(20);
    std::this_thread::sleep_for(pause);
  } else {
    communicator_->wait(inFlight_);
  }
  if (!works) {
    waitingTime_ += steadyNanoseconds() - begin;
  }
  return {};
}

/// One task of each queue where a step is next, or of each where none is.
Expected<bool> RankProgram::advanceAll(bool steps) {
  bool moved = false;
  for (Queue &queue : queues_) {
    if (queue.isOver() || steps != tasks_[queue.next()].isStep()) {
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
Expected<bool> RankProgram::advanceQueues() {
  if (queues_.size() == 1) {
    return advance(queues_.front());
  }
  Expected<bool> moved = advanceAll(/*steps=*/true);
  return !moved || *moved || isStopped_ ? moved : advanceAll(/*steps=*/false);
}

Status RankProgram::drainQueues() {
  for (Queue &queue : queues_) {
    queue.done = queue.begun = 0;
  }
  while (!std::all_of(queues_.begin(), queues_.end(),
                      [](const Queue &queue) { return queue.isOver(); })) {
    Expected<bool> moved = advanceQueues();
    if (!moved || isStopped_) {
      return moved.status();
    }
    if (*moved) {
      continue;
    }
    if (Status status = waitForOthers(); !status.isOk()) {
      return status;
    }
  }
  return {};
}

Status RankProgram::run() {
  indexFault_.reset();
  hasCommitted_ = isStopped_ = othersFault_ = false;
  waitingTime_ = 0;
  numQueued_ = 0;
  Expected<bool> isGraph = beginRun();
  Status status = !isGraph   ? isGraph.status()
                  : *isGraph ? runGraph()
                             : drainQueues();
  hasRun_ |= status.isOk() && !isStopped_;
  if (!status.isOk() || isStopped_) {
    awaitDevices();
  }
  if (!status.isOk() || isStopped_ || !endStep_) {
    return status;
  }
  bool ownFault = indexFault_.has_value();
  int64_t begin = steadyNanoseconds();
  noteStep(tasks_.size(), /*isDone=*/false);
  status = runStep(*communicator_, *endStep_, &ownFault, &othersFault_);
  if (status.isOk()) {
    noteStep(tasks_.size(), /*isDone=*/true);
  }
  waitingTime_ += steadyNanoseconds() - begin;
  return status;
}
