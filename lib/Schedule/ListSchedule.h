//===- ListSchedule.h - When operators and collectives run ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// List scheduling by critical path, in simulated time
// (divisi/Simulate/EventSimulator.h). What begins at each end of a task:
//
//   - A collective begins as soon as its operand is there. One whose operand is
//     there from the beginning, as a shard of a weight, would begin much too
//     early: it waits until those before it are in use, but for some bytes.
//   - Of the operators whose operands are there, the one with the longest path
//     to the end begins, but none that lies far ahead of the first one left.
//
//   operators    dgrad ┐ wgrad ┐ dgrad ┐ wgrad …      wgrad needs no all-reduce
//   links              └ all-reduce ┘  └ all-reduce
//
// The result is one order of all tasks. Each program's list is a part of it, so
// that no ranks wait for each other in a cycle.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SCHEDULE_LISTSCHEDULE_H
#define DIVISI_LIB_SCHEDULE_LISTSCHEDULE_H

#include "divisi/Simulate/EventSimulator.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace divisi {

/// How far a schedule may go from the list that is given.
struct ScheduleReach {
  /// So many operators lie between the first one left and the last that may
  /// begin. 1 keeps the order of operators.
  size_t operators = 1;
  /// What collectives of weights may have fetched, that is not in use yet.
  /// Those of one operator are always on their way.
  int64_t bytes = 0;
};

/// An order of tasks, and what it takes.
struct Schedule {
  std::vector<size_t> order;         ///< All tasks, as they begin.
  std::vector<int64_t> begins, ends; ///< Per task, in nanoseconds.
  int64_t nanoseconds = 0;           ///< Until the last one ends.
  /// Of the program with the most: what its collectives take, and what of it
  /// makes the program longer, as no operator runs then or one runs slower.
  int64_t communication = 0, exposed = 0;
};

/// Simulates `tasks`, of programs numbered from 0, which stand in an order in
/// which they could run.
Schedule makeSchedule(std::span<const ScheduleTask> tasks,
                      const ScheduleReach &reach);

} // namespace divisi

#endif // DIVISI_LIB_SCHEDULE_LISTSCHEDULE_H
