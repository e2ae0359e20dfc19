//===- GraphPlan.h - Which tasks of a program are one graph -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_GRAPHPLAN_H
#define DIVISI_RUNTIME_CORE_GRAPHPLAN_H

#include "runtime/core/RankTask.h"

namespace divisi::rt {

/// The tasks of a program of which a graph does some: see GraphRecorder.h.
struct GraphPlan {
  /// Tasks in the order of the list: those that the host does before what the
  /// device does, these, and what the host does behind.
  std::vector<size_t> before, works, behind;
  /// Of each of `works`: the tasks on other queues that it waits for.
  std::vector<std::vector<size_t>> waits;
  Device *device = nullptr; ///< Who does them.
  /// From which others begin, and that ends last.
  DeviceQueue *queue = nullptr;
  /// In the order in which they begin, with their last tasks.
  std::vector<std::pair<DeviceQueue *, size_t>> others;
  std::vector<size_t> steps; ///< Of `works`, those with other devices.

  /// `57 tasks of the device are one graph, 2 of them with other devices`
  std::string describe() const;
};

/// That of `program`, whose `queues` have its tasks in order; nothing if the
/// device does not work alone, or nothing at all. `offender` is then the task
/// because of which that is so.
std::optional<GraphPlan>
planGraph(const RankTasks &program,
          std::span<const std::vector<size_t> *const> queues, size_t &offender);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_GRAPHPLAN_H
