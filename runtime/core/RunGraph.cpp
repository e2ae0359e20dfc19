//===- RunGraph.cpp - Recording what a device does, and doing it ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankGraph.h"

#include <chrono>
#include <cstring>
#include <thread>

using namespace divisi;
using namespace divisi::rt;

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

/// Gives the device its tasks, from one queue on and back to it.
Status RankProgram::giveWork() {
  RankGraph &graph = *graph_;
  Device &device = *graph.device;
  Status status = device.record(*graph.queue, *graph.begun);
  for (auto [queue, last] : graph.others) {
    status = status.isOk() ? device.wait(*queue, *graph.begun) : status;
  }
  for (size_t i = 0; i < graph.works.size() && status.isOk(); ++i) {
    Task &task = tasks_[graph.works[i]];
    for (size_t other : graph.waits[i]) {
      status = status.isOk() ? device.wait(*task.queue, *tasks_[other].ended)
                             : status;
    }
    if (status.isOk()) {
      status = runAt(graph.works[i]);
    }
    if (status.isOk()) {
      status = device.record(*task.queue, *task.ended);
    }
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
  Status status = graph.device->beginGraph(*graph.queue);
  if (!status.isOk()) {
    return status;
  }
  status = giveWork();
  auto made = graph.device->endGraph(*graph.queue);
  if (!status.isOk() || !made) {
    return (status.isOk() ? made.status() : status)
        .in("recording what a device does, which --no-graphs leaves out");
  }
  graph.graph = std::move(*made);
  graph.addresses = graph.present;
  return {};
}

/// Until the graph has ended, or the rank is given up.
Status RankProgram::awaitGraph() {
  constexpr std::chrono::microseconds pause(20);
  RankGraph &graph = *graph_;
  while (true) {
    Expected<bool> isReached = graph.device->poll(*graph.ended);
    if (!isReached || *isReached) {
      return isReached.status();
    }
    if (state_->isGivenUp.load(std::memory_order_relaxed)) {
      (void)finish(*graph.device, *graph.ended);
      return kernelFailure();
    }
    std::this_thread::sleep_for(pause);
  }
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
  listGraphAddresses();
  if (status.isOk() && (!graph.graph || graph.present != graph.addresses)) {
    status = recordGraph();
  }
  if (!status.isOk()) {
    return status;
  }
  size_t first = graph.works.front();
  progress_.store(2 * first + 1, std::memory_order_relaxed);
  status = graph.device->run(*graph.queue, *graph.graph);
  if (status.isOk()) {
    status = graph.device->record(*graph.queue, *graph.ended);
  }
  if (status.isOk()) {
    status = awaitGraph();
  }
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
