//===- RankProgram.cpp - A program of one rank ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankLoop.h"

#include "divisi/Support/Clock.h"

#include <algorithm>
#include <tuple>

using namespace divisi;
using namespace divisi::rt;

/// The number of the context's rank among those of the session.
static size_t localNumber(const RankContext &context) {
  return std::ranges::lower_bound(context.localRanks, context.rank) -
         context.localRanks.begin();
}

RankProgram::RankProgram(const RankContext &context)
    : list_(context), runner_(list_), scheduler_(list_, runner_),
      binder_(list_, localNumber(context)) {}

void RankProgram::setWorkspaces(const RankSpaces &spaces) {
  auto give = [&](const auto &step, int64_t at,
                  uint32_t space = hostSpaceNumber) {
    if (step && step->workspaceBytes() != 0) {
      step->setWorkspace(spaces[space].messages->data() + at);
    }
  };
  for (RankTask &task : list_.tasks) {
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

Status RankProgram::firstFault(
    std::span<const std::unique_ptr<RankProgram>> programs) {
  const RankProgram *first = nullptr;
  auto key = [](const RankProgram &program) {
    const IndexFault &fault = *program.indexFault();
    return std::tie(fault.at, fault.index.position);
  };
  for (const auto &program : programs) {
    if (program && program->indexFault() &&
        (!first || key(*program) < key(*first))) {
      first = program.get();
    }
  }
  if (!first) {
    return {};
  }
  const auto &[at, where, index] = *first->indexFault();
  return makeError(ExitCode::Invalid, where, ": ", index.message());
}

RankProgram::KernelCounts RankProgram::fallbacks() const {
  KernelCounts counts;
  for (const RankTask &task : list_.tasks) {
    if (auto part = task.kernel ? task.kernel->hasFallenBack() : std::nullopt) {
      ++counts[{std::string(part->op), std::string(part->library)}];
    }
    for (const auto &[key, calls] :
         task.loop ? task.loop->body->fallbacks() : KernelCounts()) {
      counts[key] += calls;
    }
  }
  return counts;
}

Status RankProgram::planGraph() {
  size_t offender = 0;
  std::optional<GraphPlan> plan =
      divisi::rt::planGraph(list_, scheduler_.queues(), offender);
  if (!plan) {
    bool hasWork = std::ranges::any_of(
        list_.tasks, [](const RankTask &task) { return task.queue; });
    graphUse_ = hasWork
                    ? "no graph: the host takes part in " +
                          list_.locationAt(list_.tasks[offender].instruction)
                    : "";
    return {};
  }
  graphUse_ = "from the second run on, " + plan->describe();
  auto made = GraphRecorder::make(std::move(*plan), list_, runner_, memory_);
  if (made) {
    graph_ = std::move(*made);
  }
  return made.status();
}

Status RankProgram::bind(std::span<const TensorArgument> inputs,
                         std::span<const TensorArgument> outputs) {
  return binder_.bind(inputs, outputs, recorder());
}

Status RankProgram::iterate(std::span<const void *const> inputs,
                            std::span<void *const> outputs) {
  binder_.bindIteration(inputs, outputs);
  runner_.beginIteration();
  return scheduler_.run(); // all of the iteration before have ended
}

/// Connects the devices for what bodies have of steps between them: before the
/// run, since ranks wait for each other there, and in a loop some would do so
/// while others are before it. All have the loops in one order (verifyOrder()).
Status RankProgram::connectBodies() {
  for (const RankProgram *body : meetingBodies_) {
    Expected<uint64_t> number = list_.communicator->beginRun(
        body->list_.entryIndex, body->queuedRanks_, list_.rank,
        /*mayRecord=*/false);
    if (!number) {
      return number.status();
    }
  }
  return {};
}

/// Begins a run with others; whether what the device does in it is its graph.
Expected<bool> RankProgram::beginRun() {
  if (Status status = connectBodies(); !status.isOk()) {
    return status;
  }
  if (queuedRanks_.empty()) {
    return recorder() != nullptr;
  }
  bool mayRecord = graph_ || !hasQueued_;
  Expected<uint64_t> number = list_.communicator->beginRun(
      list_.entryIndex, queuedRanks_, list_.rank, mayRecord);
  if (!number) {
    return number.status();
  }
  if (!graph_ || !hasQueued_) {
    return recorder() != nullptr;
  }
  if (*number == 0) {
    graph_.reset();
    graphUse_ = "no graph: a device that it communicates with has none";
  }
  return *number > 1;
}

/// Tells the ranks of other sessions of bad indices, and waits for theirs.
Status RankProgram::meetAtEnd() {
  bool ownFault = indexFault().has_value();
  size_t end = list_.tasks.size();
  int64_t begin = steadyNanoseconds();
  runner_.noteStep(end, /*isDone=*/false);
  Status status =
      runStep(*list_.communicator, *endStep_, &ownFault, &othersFault_);
  if (status.isOk()) {
    runner_.noteStep(end, /*isDone=*/true);
  }
  runner_.addWaiting(begin);
  return status;
}

Status RankProgram::run() {
  runner_.beginRun();
  scheduler_.beginRun();
  othersFault_ = false;
  Expected<bool> isGraph = beginRun();
  Status status = !isGraph   ? isGraph.status()
                  : *isGraph ? graph_->run()
                             : scheduler_.run();
  hasRun_ |= status.isOk() && !isStopped();
  if (!status.isOk() || isStopped()) {
    awaitDevices();
  }
  return status.isOk() && !isStopped() && endStep_ ? meetAtEnd() : status;
}
