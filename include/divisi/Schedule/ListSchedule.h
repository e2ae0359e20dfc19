//===- ListSchedule.h - When operators and collectives run ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of an entry are tasks: operators, each of one program, and
// collectives, each of all programs whose ranks meet in it. A program runs one
// operator at a time, and beside it what its links do, one collective at a
// time. Time is simulated, from one end of a task to the next:
//
//   - A collective starts as soon as its operand is there. One whose operand is
//     there from the beginning, as a shard of a weight, would start much too
//     early: it waits until those before it are in use, but for some bytes.
//   - Where an operator has ended, the next one begins whose operands are
//     there: of several the one from which the longest way leads to the end,
//     but none that lies far ahead of the first one left.
//
//   operators    dgrad ┐ wgrad ┐ dgrad ┐ wgrad …      wgrad needs no all-reduce
//   links              └ all-reduce ┘  └ all-reduce
//
// What comes out is one order of all tasks. Each program's list is a part of
// it, so that no ranks wait for each other in a circle.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SCHEDULE_LISTSCHEDULE_H
#define DIVISI_SCHEDULE_LISTSCHEDULE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace divisi {

/// An operator, or a collective.
struct ScheduleTask {
  std::vector<size_t> programs; ///< Whose it is; of an operator one.
  std::vector<size_t> after;    ///< Tasks before it, whose results it uses.
  int64_t nanoseconds = 0;      ///< Alone.
  bool meets = false;           ///< Whether it is a collective.
  double slowdown = 1; ///< Of operators beside a collective, at least 1.
  int64_t bytes = 0;   ///< That the result of a collective takes.
};

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
  std::vector<size_t> order; ///< All tasks, as they begin.
  int64_t nanoseconds = 0;   ///< Until the last one ends.
  /// Of the program with the most: what its collectives take, and what of it
  /// makes the program longer, as no operator runs then or one runs slower.
  int64_t communication = 0, exposed = 0;
};

/// Simulates `tasks`, of programs numbered from 0, which stand in an order in
/// which they could run.
Schedule makeSchedule(std::span<const ScheduleTask> tasks,
                      const ScheduleReach &reach);

/// What `tasks` take in their order if nothing runs beside a collective.
int64_t timeInTurn(std::span<const ScheduleTask> tasks);

} // namespace divisi

#endif // DIVISI_SCHEDULE_LISTSCHEDULE_H
