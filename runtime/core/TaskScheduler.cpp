//===- TaskScheduler.cpp - Which task of a rank is next -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/TaskScheduler.h"
#include "divisi/Support/Clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace divisi;
using namespace divisi::rt;

size_t TaskScheduler::append(uint32_t queue, size_t task) {
  queues_[queue].tasks.push_back(task);
  return queues_[queue].tasks.size();
}

void TaskScheduler::setCommit(size_t task) {
  commit_ = task;
  program_.tasks[task].operands = {&commitVote_};
  program_.tasks[task].results = {&isStopped_};
}

std::vector<const std::vector<size_t> *> TaskScheduler::queues() const {
  std::vector<const std::vector<size_t> *> tasks;
  for (const Queue &queue : queues_) {
    tasks.push_back(&queue.tasks);
  }
  return tasks;
}

/// Whether the device of `task` can be told to wait: what it waits for has
/// begun in a queue of the same device.
bool TaskScheduler::canWaitThere(const RankTask &task,
                                 const RankTask::Wait &wait) const {
  const Queue &other = queues_[wait.queue];
  return task.queue && other.begun >= wait.tasks &&
         program_.tasks[other.tasks[wait.tasks - 1]].device == task.device;
}

bool TaskScheduler::mayBegin(const Queue &queue, const RankTask &task) const {
  if (queue.isInFlight() &&
      !(task.queue &&
        program_.tasks[queue.tasks[queue.begun - 1]].device == task.device)) {
    return false;
  }
  // One order of the list, not that in which ranks happen to come to them.
  if (task.queued && task.number != numQueued_) {
    return false;
  }
  return std::all_of(task.waits.begin(), task.waits.end(),
                     [&](const RankTask::Wait &wait) {
                       return queues_[wait.queue].done >= wait.tasks ||
                              canWaitThere(task, wait);
                     });
}

/// Whether all that `task` comes after has ended, beside its queue.
bool TaskScheduler::isNext(const RankTask &task) const {
  return std::ranges::all_of(task.waits, [&](const RankTask::Wait &wait) {
    return queues_[wait.queue].done >= wait.tasks;
  });
}

Status TaskScheduler::beginOnDevice(size_t index) {
  RankTask &task = program_.tasks[index];
  for (const RankTask::Wait &wait : task.waits) {
    const Queue &other = queues_[wait.queue];
    if (other.done < wait.tasks) {
      Status status = task.device->wait(
          *task.queue, *program_.tasks[other.tasks[wait.tasks - 1]].ended);
      if (!status.isOk()) {
        return status.in(program_.whereIs(task));
      }
    }
  }
  if (task.queued) {
    runner_.noteStep(index, /*isDone=*/false);
    ++numQueued_;
  }
  if (Status status = runner_.run(index); !status.isOk()) {
    return status;
  }
  // What the device has failed at before this is told here, too.
  return task.device->record(*task.queue, *task.ended)
      .in(program_.whereIs(task));
}

/// Looks which tasks that a device does have ended.
Expected<bool> TaskScheduler::collectEnded(Queue &queue) {
  bool moved = false;
  while (queue.isInFlight()) {
    RankTask &task = program_.tasks[queue.next()];
    Expected<bool> hasEnded = task.device->poll(*task.ended);
    if (!hasEnded) {
      return hasEnded.status().in(program_.whereIs(task));
    }
    if (!*hasEnded) {
      Status status = task.queued ? task.queued->check(isNext(task)) : Status();
      if (!status.isOk()) {
        return status;
      }
      break;
    }
    if (task.queued) {
      runner_.noteStep(queue.next(), /*isDone=*/true);
    }
    runner_.collect(queue.next());
    runner_.noteEnd(queue.next());
    ++queue.done;
    moved = true;
  }
  return moved;
}

void TaskScheduler::awaitDevices() {
  bool isInStep = std::ranges::any_of(queues_, [&](const Queue &queue) {
    auto begun = std::span(queue.tasks).first(queue.begun);
    return std::ranges::any_of(begun.subspan(queue.done), [&](size_t index) {
      return program_.tasks[index].queued != nullptr;
    });
  });
  if (isInStep) {
    // What ends steps may wait for a kernel that never returns: that is given
    // up.
    auto waiting = std::ranges::find_if(
        queues_, [](const Queue &queue) { return queue.isInFlight(); });
    runner_.noteProgress(waiting->next(), /*works=*/true);
    program_.communicator->endQueued(program_.rank);
  }
  for (Queue &queue : queues_) {
    while (queue.isInFlight() && program_.tasks[queue.next()].ended) {
      runner_.noteProgress(queue.next(), /*works=*/true);
      RankTask &task = program_.tasks[queue.next()];
      (void)finish(*task.device, *task.ended); // nothing is worse than failed
      ++queue.done;
    }
  }
}

/// Goes on with the next tasks of the queue, which is not over; returns whether
/// anything changed.
Expected<bool> TaskScheduler::advance(Queue &queue) {
  if (program_.tasks[queue.next()].isStep()) {
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
  if (program_.tasks[index].isStep() ||
      !mayBegin(queue, program_.tasks[index])) {
    return moved;
  }
  Status status = program_.checkGoesOn(!hasVoted_);
  if (status.isOk()) {
    status =
        program_.tasks[index].queue ? beginOnDevice(index) : runner_.run(index);
  }
  if (!status.isOk()) {
    return status;
  }
  ++queue.begun;
  if (!program_.tasks[index].queue) {
    queue.done = queue.begun;
  }
  return true;
}

Expected<bool> TaskScheduler::advanceComm(Queue &queue) {
  size_t index = queue.next();
  RankTask &task = program_.tasks[index];
  bool starts = !queue.isInFlight();
  if (starts) {
    if (!mayBegin(queue, task)) {
      return false;
    }
    Status status = program_.checkGoesOn(!hasVoted_);
    runner_.noteStep(index, /*isDone=*/false);
    if (index == commit_) {
      commitVote_ = runner_.indexFault().has_value();
      hasVoted_ = true;
    }
    if (status.isOk()) {
      status = task.comm->start(task.operands[0], task.results[0]);
    }
    if (!status.isOk()) {
      return status;
    }
    ++queue.begun;
  }
  Expected<bool> isDone = task.comm->poll();
  if (!isDone || !*isDone) {
    return isDone ? Expected<bool>(starts) : isDone;
  }
  runner_.noteStep(index, /*isDone=*/true);
  ++queue.done;
  if (index == commit_ && !isStopped_) {
    program_.state->hasCommitted.store(true, std::memory_order_relaxed);
  }
  return true;
}

/// Something is in flight: the first of the list that has not ended waits for
/// no task. A device cannot wake who waits for it.
Status TaskScheduler::waitForOthers() {
  inFlight_.clear();
  bool isOnDevice = false, works = false;
  for (Queue &queue : queues_) {
    if (!queue.isInFlight()) {
      continue;
    }
    const RankTask &task = program_.tasks[queue.next()];
    if (task.isStep()) {
      inFlight_.push_back(task.comm.get());
      continue;
    }
    isOnDevice = true;
    if (!task.queued && isNext(task)) {
      runner_.noteProgress(queue.next(), /*works=*/true);
      works = true;
    }
  }
  if (isOnDevice) {
    Status status = program_.checkGoesOn(!hasVoted_);
    if (!status.isOk()) {
      return status;
    }
  }
  if (!works) { // it waits, for as long as a step may
    runner_.noteWaiting();
  }
  int64_t begin = steadyNanoseconds();
  if (isOnDevice) {
    constexpr std::chrono::microseconds pause(20);
    std::this_thread::sleep_for(pause);
  } else {
    program_.communicator->wait(inFlight_);
  }
  if (!works) {
    runner_.addWaiting(begin);
  }
  return {};
}

/// One task of each queue where a step is next, or of each where none is.
Expected<bool> TaskScheduler::advanceAll(bool steps) {
  bool moved = false;
  for (Queue &queue : queues_) {
    if (queue.isOver() || steps != program_.tasks[queue.next()].isStep()) {
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
Expected<bool> TaskScheduler::advanceQueues() {
  if (queues_.size() == 1) {
    return advance(queues_.front());
  }
  Expected<bool> moved = advanceAll(/*steps=*/true);
  return !moved || *moved || isStopped_ ? moved : advanceAll(/*steps=*/false);
}

Status TaskScheduler::run() {
  numQueued_ = 0;
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
