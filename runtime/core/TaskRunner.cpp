//===- TaskRunner.cpp - Running one task after another --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/TaskRunner.h"
#include "divisi/Support/Clock.h"
#include "runtime/core/RankLoop.h"

using namespace divisi;
using namespace divisi::rt;

void TaskRunner::beginRun() {
  indexFault_.reset();
  waitingTime_ = 0;
}

void TaskRunner::noteFault(const RankTask &task, LaunchContext &context) {
  if (context.badIndex && !indexFault_) {
    indexFault_ = {{task.instruction},
                   program_.nodeAt(task.instruction),
                   std::move(*context.badIndex)};
  }
}

Status TaskRunner::launch(RankTask &task) {
  LaunchContext context{task.operands, task.results, task.workspace,
                        program_.threads, task.queue};
  Status status = task.kernel->launch(context);
  noteFault(task, context);
  return status;
}

Status TaskRunner::runTask(RankTask &task) {
  switch (task.kind) {
  case RankTask::Kind::Call:
    return launch(task);
  case RankTask::Kind::Loop:
    return runLoop(task);
  case RankTask::Kind::Comm:
    return task.queued->put(*task.queue, task.operands[0], task.results[0]);
  case RankTask::Kind::Nothing:
    break;
  case RankTask::Kind::Copy:
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
  case RankTask::Kind::Fill:
    return task.device->fill(task.queue, task.fillType, task.fillKind,
                             task.results[0], task.fillCount);
  }
  return {};
}

Status TaskRunner::run(size_t index) {
  RankTask &task = program_.tasks[index];
  // A loop works where its body does.
  bool works = task.kind != RankTask::Kind::Loop;
  noteProgress(index, works);
  if (!events_.empty()) {
    events_[index].begin = steadyNanoseconds();
  }
  Status status = runTask(task);
  noteEnd(index);
  noteProgress(index + 1, /*works=*/false);
  return status.isOk() || !works ? status : status.in(program_.whereIs(task));
}

Status TaskRunner::runAll(std::span<const size_t> tasks) {
  for (size_t index : tasks) {
    Status status = program_.checkGoesOn();
    if (status.isOk()) {
      status = run(index);
    }
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

void TaskRunner::collect(size_t index) {
  RankTask &task = program_.tasks[index];
  if (task.kind == RankTask::Kind::Call) {
    LaunchContext context{};
    task.kernel->collect(context);
    noteFault(task, context);
  }
}

void TaskRunner::noteStep(size_t index, bool isDone) {
  int64_t time = steadyNanoseconds();
  if (index == program_.tasks.size()) { // the last one, which is no task
    return program_.lastSteps->note(program_.entryIndex, LastSteps::endOfEntry,
                                    isDone, time);
  }
  program_.lastSteps->note(program_.entryIndex,
                           program_.tasks[index].instruction, isDone, time);
  if (!events_.empty()) {
    (isDone ? events_[index].end : events_[index].begin) = time;
  }
}

void TaskRunner::noteEnd(size_t index) {
  if (!events_.empty()) {
    events_[index].end = steadyNanoseconds();
  }
}

void TaskRunner::noteWaiting() {
  uint64_t last = progress_.load(std::memory_order_relaxed);
  progress_.store(last - last % 2, std::memory_order_relaxed);
}

void TaskRunner::addWaiting(int64_t begin) {
  waitingTime_ += steadyNanoseconds() - begin;
}

uint64_t TaskRunner::progress() const {
  const RankProgram *inner = inner_.load(std::memory_order_relaxed);
  return inner ? inner->progress() : progress_.load(std::memory_order_relaxed);
}

std::string TaskRunner::locationOf(uint64_t progress) const {
  const RankProgram *inner = inner_.load(std::memory_order_relaxed);
  const std::vector<RankTask> &tasks = program_.tasks;
  return inner ? inner->locationOf(progress)
               : program_.whereIs(tasks[progress / 2 % tasks.size()]);
}
