//===- PlanGraph.cpp - Whether a run can be one piece of work -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/AccessOrder.h"
#include "runtime/core/GraphPlan.h"

#include <algorithm>
#include <set>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

namespace {

/// Sorts the tasks of a program, whose queues have them in order.
class GraphPlanner {
public:
  using Accesses = std::vector<MemoryAccess>;
  GraphPlanner(std::span<const RankTask> tasks,
               std::span<const std::vector<size_t> *const> queues,
               std::span<const Accesses> accesses)
      : tasks_(tasks), queues_(queues), accesses_(accesses),
        behind_(tasks.size()), previous_(tasks.size(), tasks.size()) {
    for (const std::vector<size_t> *queue : queues) {
      for (size_t i = 1; i < queue->size(); ++i) {
        previous_[(*queue)[i]] = (*queue)[i - 1];
      }
    }
  }

  /// Nothing if there is none; `offender` is then the task because of which the
  /// device does not work alone.
  std::optional<GraphPlan> plan(size_t &offender);

private:
  static bool isDevices(const RankTask &task) { return task.queue != nullptr; }
  std::optional<size_t> conflict(size_t index,
                                 std::span<const size_t> others) const;
  void comeAfter(size_t task, size_t source);
  void addWork(size_t task);
  bool addHosts(size_t task);

  std::span<const RankTask> tasks_;
  std::span<const std::vector<size_t> *const> queues_;
  std::span<const Accesses> accesses_;
  /// By task: the device's that it comes after, without what these do.
  std::vector<std::set<size_t>> behind_;
  std::vector<size_t> previous_; ///< On the queue; one behind all: none.
  GraphPlan made_;
};

} // namespace

static bool mayNotChange(const MemoryAccess &a, const MemoryAccess &b) {
  return (a.writes || b.writes) && a.range.begin < b.range.end &&
         b.range.begin < a.range.end;
}

/// The first of `others` with which task `index` must not change places.
std::optional<size_t>
GraphPlanner::conflict(size_t index, std::span<const size_t> others) const {
  for (size_t other : others) {
    for (const MemoryAccess &own : accesses_[index]) {
      if (std::ranges::any_of(accesses_[other], [&](const MemoryAccess &its) {
            return mayNotChange(own, its);
          })) {
        return other;
      }
    }
  }
  return std::nullopt;
}

void GraphPlanner::comeAfter(size_t task, size_t source) {
  if (isDevices(tasks_[source])) {
    behind_[task].insert(source);
  } else {
    behind_[task].insert(behind_[source].begin(), behind_[source].end());
  }
}

void GraphPlanner::addWork(size_t index) {
  const RankTask &task = tasks_[index];
  if (!made_.queue) {
    made_.queue = task.queue;
    made_.device = task.device;
  }
  auto &others = made_.others;
  auto found = std::ranges::find(others, task.queue,
                                 &std::pair<DeviceQueue *, size_t>::first);
  if (found != others.end()) {
    found->second = index;
  } else if (task.queue != made_.queue) {
    others.emplace_back(task.queue, index);
  }
  made_.works.push_back(index);
  if (task.queued) {
    made_.steps.push_back(index);
  }
  std::vector<size_t> &waits = made_.waits.emplace_back();
  for (size_t other : behind_[index]) {
    if (tasks_[other].queue != task.queue) {
      waits.push_back(other);
    }
  }
}

/// What the host does comes before all that the device does, if bytes allow
/// that, and else behind it: queues keep more apart than bytes do. False for
/// what has no place that is known.
bool GraphPlanner::addHosts(size_t index) {
  const RankTask &task = tasks_[index];
  if (task.isStep() || task.kind == RankTask::Kind::Loop) {
    return false;
  }
  if (task.kind != RankTask::Kind::Nothing) {
    bool isLate = conflict(index, made_.works) || conflict(index, made_.behind);
    (isLate ? made_.behind : made_.before).push_back(index);
  }
  return true;
}

std::optional<GraphPlan> GraphPlanner::plan(size_t &offender) {
  for (size_t index = 0; index < tasks_.size(); ++index) {
    const RankTask &task = tasks_[index];
    for (const RankTask::Wait &wait : task.waits) {
      comeAfter(index, (*queues_[wait.queue])[wait.tasks - 1]);
    }
    if (previous_[index] < index) {
      comeAfter(index, previous_[index]);
    }
    offender = index;
    if (!isDevices(task)) {
      if (!addHosts(index)) {
        return std::nullopt;
      }
      continue;
    }
    if (auto late = conflict(index, made_.behind)) {
      offender = *late;
      return std::nullopt;
    }
    if (task.isPageable || (task.queued && !task.queued->mayBeRecorded())) {
      return std::nullopt;
    }
    addWork(index);
  }
  if (made_.works.empty()) {
    return std::nullopt;
  }
  return std::move(made_);
}

/// The bytes that an instruction touches, of those that some instruction
/// writes.
static std::vector<MemoryAccess>
accessesOf(const ResolvedProgram &program, const pb::Instruction &instruction) {
  std::vector<MemoryAccess> accesses;
  auto add = [&](uint32_t buffer, bool writes) {
    if (auto range = program.range(buffer)) {
      accesses.push_back({*range, writes});
    }
  };
  if (instruction.has_call()) {
    const pb::Call &call = instruction.call();
    std::ranges::for_each(call.operands(),
                          [&](uint32_t buffer) { add(buffer, false); });
    std::ranges::for_each(call.results(),
                          [&](uint32_t buffer) { add(buffer, true); });
    if (call.workspace_bytes() > 0) {
      int64_t begin = program.arenas[call.space()] + call.workspace_offset();
      accesses.push_back({{begin, begin + call.workspace_bytes()}, true});
    }
    return accesses;
  }
  std::vector<uint32_t> buffers = movedBuffers(instruction);
  for (size_t i = 0; i < buffers.size(); ++i) {
    // From the first to the second; a transfer may have one of them.
    add(buffers[i], /*writes=*/i > 0 || instruction.has_transfer());
  }
  return accesses;
}

std::string GraphPlan::describe() const {
  return std::to_string(works.size()) + " tasks of the device are one graph" +
         (steps.empty() ? ""
                        : ", " + std::to_string(steps.size()) +
                              " of them with other devices");
}

std::optional<GraphPlan>
divisi::rt::planGraph(const RankTasks &program,
                      std::span<const std::vector<size_t> *const> queues,
                      size_t &offender) {
  std::vector<GraphPlanner::Accesses> accesses;
  const ResolvedProgram &resolved =
      program.entry.programs[program.programIndex];
  for (const RankTask &task : program.tasks) {
    accesses.push_back(accessesOf(
        resolved, resolved.message->instructions(int(task.instruction))));
  }
  std::optional<GraphPlan> plan =
      GraphPlanner(program.tasks, queues, accesses).plan(offender);
  return plan && plan->device->hasGraphs() ? std::move(plan) : std::nullopt;
}
