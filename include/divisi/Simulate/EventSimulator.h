//===- EventSimulator.h - Operators and collectives over time ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of an entry as tasks with durations: operators, each of one
// program, and collectives, each of all programs whose ranks take part in it. A
// program runs one operator at a time, and on its links one collective at a
// time. A collective may slow down the operators beside it. Time goes from one
// end of a task to the next; the caller starts tasks:
//
//   EventSimulator simulator(tasks);
//   simulator.beginCollective(0);
//   simulator.beginOperator(1);
//   while (simulator.advance()) {
//     while (std::optional<size_t> task = simulator.takeEnded()) {
//       … begin what waited for it
//     }
//   }
//
//   operators    |-- 1 --|            now() of the two ends: that of 1, of 0
//   links        |--- 0 ---|
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SIMULATE_EVENTSIMULATOR_H
#define DIVISI_SIMULATE_EVENTSIMULATOR_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
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

/// What an entry took.
struct SimulatedTimes {
  int64_t nanoseconds = 0; ///< Until the last task ended.
  /// Of the program with the most: what its collectives take, and what of it
  /// makes the program longer, as no operator runs then or one runs slower.
  int64_t communication = 0, exposed = 0;
};

/// See the file's head.
class EventSimulator {
public:
  /// Of `tasks`, which the caller keeps, of programs numbered from 0. Time is
  /// 0, and nothing runs.
  explicit EventSimulator(std::span<const ScheduleTask> tasks);

  /// One more than the highest program of a task.
  size_t numPrograms() const { return programs_.size(); }
  /// In nanoseconds.
  int64_t now() const { return now_; }
  /// Whether `program` runs an operator.
  bool isBusy(size_t program) const;

  /// Begins the operator `task` now; its program is not busy.
  void beginOperator(size_t task);
  /// Puts the collective `task` on the links of its programs: it begins when
  /// all of them are free, now at the earliest; tells when. One that takes no
  /// time ends now, and keeps no links.
  int64_t beginCollective(size_t task);

  /// Goes on to the next end of a task; whether there is one.
  bool advance();
  /// A task that ends now and has not been taken; nothing if there is none.
  /// Operators come before collectives, in the order of their programs.
  std::optional<size_t> takeEnded();

  /// What the tasks that have ended took.
  SimulatedTimes times() const;

  /// Goes to `now`, where nothing runs and all links are free; what was before
  /// is resumed, by those below: collectives first, of each program in the
  /// order of their begins. times() then tells nothing.
  void restart(int64_t now);
  /// The collective `task` has had the links of its programs, or will have
  /// them, from `begin` on.
  void resumeCollective(size_t task, int64_t begin);
  /// The operator `task` has run from `since` on, and is not over.
  void resumeOperator(size_t task, int64_t since);

private:
  /// A collective on the links of a program.
  struct Interval {
    int64_t begin, end;
    double slowdown;
  };

  /// What one program is at.
  struct Program {
    std::optional<size_t> running; ///< An operator.
    int64_t since = 0, end = 0;    ///< It runs, as far as is known.
    std::vector<Interval> links;   ///< Ascending, apart.
    size_t current = 0;            ///< Of `links`, the first not over.
    int64_t communication = 0, hidden = 0;
  };

  void begin(size_t task, int64_t since);
  void putOnLinks(size_t task, int64_t begin);
  void predict(size_t program);
  static int64_t hiddenBy(const Program &program, int64_t nanoseconds);

  std::span<const ScheduleTask> tasks_;
  std::vector<Program> programs_;
  /// When running operators (by program) and collectives end.
  std::set<std::tuple<int64_t, bool, size_t>> ends_;
  int64_t now_ = 0;
};

/// What `tasks`, which stand in an order in which they could run, take in that
/// order if nothing runs beside a collective.
int64_t timeInTurn(std::span<const ScheduleTask> tasks);

} // namespace divisi

#endif // DIVISI_SIMULATE_EVENTSIMULATOR_H
