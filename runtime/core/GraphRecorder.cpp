//===- GraphRecorder.cpp - Recording what a device does, and doing it -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/GraphRecorder.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <thread>

using namespace divisi;
using namespace divisi::rt;

Expected<std::unique_ptr<GraphRecorder>>
GraphRecorder::make(GraphPlan plan, RankTasks &program, TaskRunner &runner,
                    ProgramMemory &memory) {
  std::unique_ptr<GraphRecorder> made(
      new GraphRecorder(std::move(plan), program, runner, memory));
  for (auto *event : {&made->begun_, &made->ended_}) {
    auto one = made->plan_.device->makeEvent();
    if (!one) {
      return one.status();
    }
    *event = std::move(*one);
  }
  return made;
}

Expected<const std::byte *> GraphRecorder::stageInput(uint32_t input,
                                                      const std::byte *from,
                                                      int64_t bytes) {
  std::unique_ptr<DeviceMemory> &place = inputs_[input];
  if (!place) {
    auto made = plan_.device->allocateHost(bytes);
    if (!made) {
      return made.status();
    }
    place = std::move(*made);
    memory_.staging += bytes;
  }
  std::memcpy(place->data(), from, size_t(bytes));
  return place->data();
}

/// Notes all that the device's tasks are given in this run.
void GraphRecorder::listAddresses() {
  std::vector<const void *> &addresses = present_;
  addresses.clear();
  for (size_t index : plan_.works) {
    const RankTask &task = program_.tasks[index];
    addresses.insert(addresses.end(), task.operands.begin(),
                     task.operands.end());
    addresses.insert(addresses.end(), task.results.begin(), task.results.end());
    addresses.push_back(task.workspace);
  }
}

/// What tells the host how far the graph is, if it has steps.
Status GraphRecorder::makeMarks() {
  if (plan_.steps.empty() || marks_) {
    return {};
  }
  auto queue = plan_.device->makeQueue();
  auto event = queue ? plan_.device->makeEvent() : queue.status();
  auto marks = event ? plan_.device->allocateHost(int64_t(plan_.steps.size()))
                     : event.status();
  if (!marks) {
    return marks.status();
  }
  marker_ = std::move(*queue);
  marked_ = std::move(*event);
  marks_ = std::move(*marks);
  memory_.staging += marks_->size();
  return {};
}

/// Lets the host see that the step, one of the graph's, has ended.
Status GraphRecorder::giveMark(size_t step) {
  Status status =
      plan_.device->wait(*marker_, *program_.tasks[plan_.steps[step]].ended);
  return status.isOk() ? plan_.device->fill(marker_.get(), DType::U8,
                                            ReduceKind::Prod, // to 1
                                            marks_->data() + step, 1)
                       : status;
}

Status GraphRecorder::giveTask(size_t index, std::span<const size_t> waits) {
  RankTask &task = program_.tasks[index];
  Status status;
  for (size_t other : waits) {
    status = status.isOk()
                 ? task.device->wait(*task.queue, *program_.tasks[other].ended)
                 : status;
  }
  if (status.isOk()) {
    status = runner_.run(index);
  }
  return status.isOk() ? task.device->record(*task.queue, *task.ended) : status;
}

/// Gives the device its tasks, from one queue on and back to it.
Status GraphRecorder::giveWork() {
  Device &device = *plan_.device;
  Status status = device.record(*plan_.queue, *begun_);
  for (auto [queue, last] : plan_.others) {
    status = status.isOk() ? device.wait(*queue, *begun_) : status;
  }
  size_t steps = 0;
  for (size_t i = 0; i < plan_.works.size() && status.isOk(); ++i) {
    status = giveTask(plan_.works[i], plan_.waits[i]);
    if (status.isOk() && program_.tasks[plan_.works[i]].queued) {
      status = giveMark(steps++);
    }
  }
  if (marker_ && status.isOk()) {
    status = device.record(*marker_, *marked_);
    status = status.isOk() ? device.wait(*plan_.queue, *marked_) : status;
  }
  for (auto [queue, last] : plan_.others) {
    status = status.isOk()
                 ? device.wait(*plan_.queue, *program_.tasks[last].ended)
                 : status;
  }
  return status;
}

Status GraphRecorder::record() {
  graph_.reset();
  Status status = makeMarks();
  if (status.isOk()) {
    status = plan_.device->beginGraph(*plan_.queue);
  }
  if (!status.isOk()) {
    return status;
  }
  status = giveWork();
  auto made = plan_.device->endGraph(*plan_.queue);
  if (!status.isOk() && !plan_.steps.empty()) {
    return status; // of others, maybe
  }
  if (!status.isOk() || !made) {
    return (status.isOk() ? made.status() : status)
        .in("recording what a device does, which --no-graphs leaves out");
  }
  graph_ = std::make_shared<std::unique_ptr<DeviceGraph>>(std::move(*made));
  addresses_ = present_;
  if (!plan_.steps.empty()) {
    program_.communicator->noteGraph(program_.rank, graph_);
  }
  return {};
}

/// Lets the graph be one of the addresses of this run.
Status GraphRecorder::prepare() {
  listAddresses();
  bool isThere = graph_ && *graph_;
  if (isThere && present_ == addresses_) {
    return {};
  }
  // Else this rank would record it alone: arenas and pinned inputs stay.
  assert(plan_.steps.empty() || !isThere);
  return record();
}

/// Notes the steps of the graph that have ended; fails if the next one cannot,
/// or does not in time. Where it waits for none, what is left is its own work.
Status GraphRecorder::watchSteps() {
  size_t count = plan_.steps.size();
  auto hasEnded = [&](size_t step) {
    auto &mark = reinterpret_cast<uint8_t &>(marks_->data()[step]);
    return std::atomic_ref(mark).load(std::memory_order_acquire) != 0;
  };
  while (past_ < count && hasEnded(past_)) {
    runner_.noteStep(plan_.steps[past_], /*isDone=*/true);
    if (++past_ < count) {
      runner_.noteStep(plan_.steps[past_], /*isDone=*/false);
    }
  }
  bool waits = past_ < count;
  size_t at = waits ? plan_.steps[past_] : plan_.works.front();
  runner_.noteProgress(at, /*works=*/!waits);
  Status status;
  // No more of them are in flight at a time.
  for (size_t i = past_; i < std::min(past_ + mostQueued, count); ++i) {
    status = status.isOk()
                 ? program_.tasks[plan_.steps[i]].queued->check(i == past_)
                 : status;
  }
  return status;
}

/// Until the graph has ended, or the rank is given up.
Status GraphRecorder::awaitEnd() {
  constexpr std::chrono::microseconds pause(20);
  while (true) {
    Expected<bool> isReached = plan_.device->poll(*ended_);
    Status status = isReached ? watchSteps() : isReached.status();
    if (!status.isOk() || *isReached) {
      return status;
    }
    if (status = program_.checkGoesOn(); !status.isOk()) {
      return status;
    }
    std::this_thread::sleep_for(pause);
  }
}

/// After a failure: until the device touches memory of the run no more.
void GraphRecorder::end() {
  runner_.noteProgress(plan_.works.front(), /*works=*/true);
  if (!plan_.steps.empty()) {
    program_.communicator->endQueued(program_.rank);
  }
  (void)finish(*plan_.device, *ended_); // nothing is worse than failed
}

/// Does it, to the end.
Status GraphRecorder::launch() {
  if (marks_) {
    std::memset(marks_->data(), 0, plan_.steps.size());
    runner_.noteStep(plan_.steps.front(), /*isDone=*/false);
  }
  past_ = 0;
  for (size_t step : plan_.steps) {
    program_.tasks[step].queued->beginAgain();
  }
  Status status = plan_.device->run(*plan_.queue, **graph_);
  if (status.isOk()) {
    status = plan_.device->record(*plan_.queue, *ended_);
  }
  if (status.isOk()) {
    status = awaitEnd();
  }
  if (!status.isOk()) {
    end();
  }
  return status;
}

Status GraphRecorder::run() {
  Status status = runner_.runAll(plan_.before);
  if (status.isOk()) {
    status = prepare();
  }
  if (!status.isOk()) {
    return status;
  }
  size_t first = plan_.works.front();
  runner_.noteProgress(first, /*works=*/true);
  status = launch();
  runner_.noteProgress(first + 1, /*works=*/false);
  if (!status.isOk()) {
    return status.in("the graph from " +
                     program_.whereIs(program_.tasks[first]) + " on");
  }
  for (size_t index : plan_.works) {
    runner_.collect(index);
  }
  return runner_.runAll(plan_.behind);
}
