//===- RunGraph.cpp - Recording what a device does, and doing it ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankGraph.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <thread>

using namespace divisi;
using namespace divisi::rt;

/// Begins a run with others; whether what the device does in it is its graph.
Expected<bool> RankProgram::beginRun() {
  if (Status status = connectBodies(); !status.isOk()) {
    return status;
  }
  if (queuedRanks_.empty()) {
    return graph_ && hasRun_;
  }
  bool mayRecord = graph_ || !hasQueued_;
  Expected<uint64_t> number =
      communicator_->beginRun(entryIndex_, queuedRanks_, rank_, mayRecord);
  if (!number) {
    return number.status();
  }
  if (!graph_ || !hasQueued_) {
    return graph_ && hasRun_;
  }
  if (*number == 0) {
    graph_.reset();
    graphUse_ = "no graph: a device that it may meet has none";
  }
  return *number > 1;
}

/// The input that the graph reads, where it stays from run to run.
Status RankProgram::stageInput(uint32_t input, InputSlice &slice) {
  if (!slice.address) {
    return {};
  }
  std::unique_ptr<DeviceMemory> &place = graph_->inputs[input];
  int64_t bytes = slice.copy.bytes();
  if (!place) {
    auto made = graph_->device->allocateHost(bytes);
    if (!made) {
      return made.status();
    }
    place = std::move(*made);
    memory_.staging += bytes;
  }
  std::memcpy(place->data(), slice.address, size_t(bytes));
  slice.address = place->data();
  return {};
}

/// Notes all that the device's tasks are given in this run.
void RankProgram::listGraphAddresses() {
  std::vector<const void *> &addresses = graph_->present;
  addresses.clear();
  for (size_t index : graph_->works) {
    const Task &task = tasks_[index];
    addresses.insert(addresses.end(), task.operands.begin(),
                     task.operands.end());
    addresses.insert(addresses.end(), task.results.begin(), task.results.end());
    addresses.push_back(task.workspace);
  }
}

/// What tells the host how far the graph is, if it has steps.
Status RankProgram::makeMarks() {
  RankGraph &graph = *graph_;
  if (graph.steps.empty() || graph.marks) {
    return {};
  }
  auto queue = graph.device->makeQueue();
  auto event = queue ? graph.device->makeEvent() : queue.status();
  auto marks = event ? graph.device->allocateHost(int64_t(graph.steps.size()))
                     : event.status();
  if (!marks) {
    return marks.status();
  }
  graph.marker = std::move(*queue);
  graph.marked = std::move(*event);
  graph.marks = std::move(*marks);
  memory_.staging += graph.marks->size();
  return {};
}

/// Lets the host see that the step, one of the graph's, has ended.
Status RankProgram::giveMark(size_t step) {
  RankGraph &graph = *graph_;
  Status status =
      graph.device->wait(*graph.marker, *tasks_[graph.steps[step]].ended);
  return status.isOk() ? graph.device->fill(graph.marker.get(), DType::U8,
                                            ReduceKind::Prod, // to 1
                                            graph.marks->data() + step, 1)
                       : status;
}

Status RankProgram::giveTask(size_t index, std::span<const size_t> waits) {
  Task &task = tasks_[index];
  Status status;
  for (size_t other : waits) {
    status = status.isOk()
                 ? task.device->wait(*task.queue, *tasks_[other].ended)
                 : status;
  }
  if (status.isOk()) {
    status = runAt(index);
  }
  return status.isOk() ? task.device->record(*task.queue, *task.ended) : status;
}

/// Gives the device its tasks, from one queue on and back to it.
Status RankProgram::giveWork() {
  RankGraph &graph = *graph_;
  Device &device = *graph.device;
  Status status = device.record(*graph.queue, *graph.begun);
  for (auto [queue, last] : graph.others) {
    status = status.isOk() ? device.wait(*queue, *graph.begun) : status;
  }
  size_t steps = 0;
  for (size_t i = 0; i < graph.works.size() && status.isOk(); ++i) {
    status = giveTask(graph.works[i], graph.waits[i]);
    if (status.isOk() && tasks_[graph.works[i]].queued) {
      status = giveMark(steps++);
    }
  }
  if (graph.marker && status.isOk()) {
    status = device.record(*graph.marker, *graph.marked);
    status = status.isOk() ? device.wait(*graph.queue, *graph.marked) : status;
  }
  for (auto [queue, last] : graph.others) {
    status =
        status.isOk() ? device.wait(*graph.queue, *tasks_[last].ended) : status;
  }
  return status;
}

Status RankProgram::recordGraph() {
  RankGraph &graph = *graph_;
  graph.graph.reset();
  Status status = makeMarks();
  if (status.isOk()) {
    status = graph.device->beginGraph(*graph.queue);
  }
  if (!status.isOk()) {
    return status;
  }
  status = giveWork();
  auto made = graph.device->endGraph(*graph.queue);
  if (!status.isOk() && !graph.steps.empty()) {
    return status; // of others, maybe
  }
  if (!status.isOk() || !made) {
    return (status.isOk() ? made.status() : status)
        .in("recording what a device does, which --no-graphs leaves out");
  }
  graph.graph =
      std::make_shared<std::unique_ptr<DeviceGraph>>(std::move(*made));
  graph.addresses = graph.present;
  if (!graph.steps.empty()) {
    communicator_->noteGraph(rank_, graph.graph);
  }
  return {};
}

/// Lets the graph be one of the addresses of this run.
Status RankProgram::prepareGraph() {
  RankGraph &graph = *graph_;
  listGraphAddresses();
  bool isThere = graph.graph && *graph.graph;
  if (isThere && graph.present == graph.addresses) {
    return {};
  }
  // Else this rank would record it alone: arenas and pinned inputs stay.
  assert(graph.steps.empty() || !isThere);
  return recordGraph();
}

/// Notes the steps of the graph that have ended; fails if the next one cannot,
/// or does not in time. Where it waits for none, what is left is its own work.
Status RankProgram::watchSteps() {
  RankGraph &graph = *graph_;
  size_t count = graph.steps.size();
  auto hasEnded = [&](size_t step) {
    auto &mark = reinterpret_cast<uint8_t &>(graph.marks->data()[step]);
    return std::atomic_ref(mark).load(std::memory_order_acquire) != 0;
  };
  while (graph.past < count && hasEnded(graph.past)) {
    noteStep(graph.steps[graph.past], /*isDone=*/true);
    if (++graph.past < count) {
      noteStep(graph.steps[graph.past], /*isDone=*/false);
    }
  }
  bool waits = graph.past < count;
  size_t at = waits ? graph.steps[graph.past] : graph.works.front();
  progress_.store(2 * at + (waits ? 0 : 1), std::memory_order_relaxed);
  Status status;
  // No more of them are in flight at a time.
  for (size_t i = graph.past; i < std::min(graph.past + mostQueued, count);
       ++i) {
    status = status.isOk()
                 ? tasks_[graph.steps[i]].queued->check(i == graph.past)
                 : status;
  }
  return status;
}

/// Until the graph has ended, or the rank is given up.
Status RankProgram::awaitGraph() {
  constexpr std::chrono::microseconds pause(20);
  RankGraph &graph = *graph_;
  while (true) {
    Expected<bool> isReached = graph.device->poll(*graph.ended);
    Status status = isReached ? watchSteps() : isReached.status();
    if (!status.isOk() || *isReached) {
      return status;
    }
    if (state_->isGivenUp.load(std::memory_order_relaxed)) {
      return kernelFailure();
    }
    std::this_thread::sleep_for(pause);
  }
}

/// After a failure: until the device touches memory of the run no more.
void RankProgram::endGraph() {
  RankGraph &graph = *graph_;
  if (!graph.steps.empty()) {
    communicator_->endQueued(rank_);
  }
  progress_.store(2 * graph.works.front() + 1, std::memory_order_relaxed);
  (void)finish(*graph.device, *graph.ended); // nothing is worse than failed
}

/// Does it, to the end.
Status RankProgram::launchGraph() {
  RankGraph &graph = *graph_;
  if (graph.marks) {
    std::memset(graph.marks->data(), 0, graph.steps.size());
    noteStep(graph.steps.front(), /*isDone=*/false);
  }
  graph.past = 0;
  for (size_t step : graph.steps) {
    tasks_[step].queued->beginAgain();
  }
  Status status = graph.device->run(*graph.queue, **graph.graph);
  if (status.isOk()) {
    status = graph.device->record(*graph.queue, *graph.ended);
  }
  if (status.isOk()) {
    status = awaitGraph();
  }
  if (!status.isOk()) {
    endGraph();
  }
  return status;
}

Status RankProgram::runOnHost(std::span<const size_t> tasks) {
  for (size_t index : tasks) {
    if (state_->isGivenUp.load(std::memory_order_relaxed)) {
      return kernelFailure();
    }
    if (Status status = runAt(index); !status.isOk()) {
      return status;
    }
  }
  return {};
}

Status RankProgram::runGraph() {
  RankGraph &graph = *graph_;
  Status status = runOnHost(graph.before);
  if (status.isOk()) {
    status = prepareGraph();
  }
  if (!status.isOk()) {
    return status;
  }
  size_t first = graph.works.front();
  progress_.store(2 * first + 1, std::memory_order_relaxed);
  status = launchGraph();
  progress_.store(2 * first + 2, std::memory_order_relaxed);
  if (!status.isOk()) {
    return status.in("the graph from " + whereIs(tasks_[first]) + " on");
  }
  for (size_t index : graph.works) {
    if (tasks_[index].kind == Task::Kind::Call) {
      LaunchContext context{};
      tasks_[index].kernel->collect(context);
      noteFault(tasks_[index], context);
    }
  }
  return runOnHost(graph.behind);
}
