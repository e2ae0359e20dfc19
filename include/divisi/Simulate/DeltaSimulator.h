//===- DeltaSimulator.h - Simulates again what changes ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tasks take in a fixed order, and what they would take if a few of them
// took longer or shorter (the delta simulation of FlexFlow: Z. Jia, M. Zaharia,
// A. Aiken, "Beyond Data and Model Parallelism for Deep Neural Networks", MLSys
// 2019, §5.3). Operators of a program run in the order in which they stand, a
// collective begins as soon as its operands are there.
//
// FlexFlow moves every task that begins at another time. Here, time is
// simulated again from the first changed task on, until what runs, and for how
// long yet, is what it was before the change at some moment: from there on all
// is as it was, earlier or later.
//
//   before   |- 1 -|- 2 -|- 3 -|- 4 -|- 5 -|
//   after    |- 1 -|-- 2 --|- 3 -|- 4 -|- 5 -|     2 alone is simulated
//
// Equal to EventSimulator to the nanosecond: what that does depends on
// differences of times alone.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SIMULATE_DELTASIMULATOR_H
#define DIVISI_SIMULATE_DELTASIMULATOR_H

#include "divisi/Simulate/EventSimulator.h"

namespace divisi {

/// What a task is to take.
struct TaskTime {
  size_t task = 0;         ///< Which.
  int64_t nanoseconds = 0; ///< Alone, at least 0.
};

/// See the file's head.
class DeltaSimulator {
public:
  /// Simulates `tasks`, of programs numbered from 0, which stand in an order in
  /// which they could run.
  explicit DeltaSimulator(std::vector<ScheduleTask> tasks);
  DeltaSimulator(const DeltaSimulator &) = delete;
  DeltaSimulator &operator=(const DeltaSimulator &) = delete;

  /// Until the last task ends.
  int64_t nanoseconds() const { return nanoseconds_; }
  /// When `task` begins.
  int64_t begin(size_t task) const { return records_[task].begin; }
  /// When it ends.
  int64_t end(size_t task) const { return records_[task].end; }

  /// What all would take if the tasks of `changes`, each named once, took that
  /// long. The proposal before is forgotten unless it was accepted.
  int64_t propose(std::span<const TaskTime> changes);
  /// Makes the last proposal what is.
  void accept();

  /// How many tasks the last proposal has begun again, all at first.
  size_t numSimulated() const { return begun_.size(); }

private:
  /// A round begins operators and goes on to the next end of a task.
  using Round = int64_t;
  static constexpr Round kNever = INT64_MAX;

  /// When a task ran.
  struct Record {
    int64_t begin = 0, end = 0;
    /// The round that begins an operator, or in which a collective gets its
    /// operands: -1 if before all rounds.
    Round born = kNever;
    Round over = kNever; ///< The first round that begins after its end.
  };
  /// The same of the proposal, as far as that has been simulated.
  struct Fresh {
    Record record;
    uint32_t proposal = 0; ///< Of which it is.
    bool isBegun = false, isEnded = false;
  };
  /// What a program does, of tasks by number.
  struct Program {
    std::vector<size_t> operators; ///< In their order.
    std::vector<size_t> links;     ///< Collectives, by their begin.
    // Of the proposal.
    size_t next = 0;           ///< Of `operators`.
    size_t kept = 0;           ///< Of `links`, those before it.
    std::vector<size_t> fresh; ///< Collectives that come after these.
    bool isWoken = false;
  };

  void connect();
  void simulate(Round first);
  void beginAll();
  void resume(Round first);
  size_t bornBefore(const std::vector<size_t> &list, Round round) const;
  bool hasEnded(size_t task, Round round) const {
    return records_[task].over <= round;
  }
  size_t &missing(size_t task);
  Fresh &fresh(size_t task);
  const Record &record(size_t task) const;
  void wake(size_t program);
  void startOperators();
  void issue(size_t collective);
  void end(size_t task, int64_t now);
  void noteBegin(size_t task);
  bool hasConverged();
  bool isAlike(const Program &program, Round old) const;
  bool areLinksAlike(const Program &program, Round old, int64_t since) const;

  std::vector<ScheduleTask> tasks_;
  std::vector<size_t> userBegins_, users_; ///< Users of a task, in one list.
  EventSimulator simulator_;
  std::vector<Program> programs_;
  size_t anchor_ = 0; ///< The program with most operators.
  std::vector<Record> records_;
  std::vector<int64_t> roundTimes_; ///< When rounds begin.
  int64_t nanoseconds_ = 0;

  // Of the proposal.
  std::vector<TaskTime> changes_; ///< With what tasks took before.
  bool isOpen_ = false;           ///< Neither accepted nor forgotten.
  uint32_t proposal_ = 0;
  Round first_ = 0;                 ///< From which on it is simulated.
  Round round_ = 0;                 ///< That is simulated.
  std::optional<Round> met_;        ///< Of the rounds before the change.
  size_t pending_ = 0;              ///< Changed tasks that have not begun.
  std::vector<bool> isChanged_;     ///< Per task.
  std::vector<Fresh> fresh_;        ///< Per task.
  std::vector<size_t> touched_;     ///< Tasks that have a Fresh.
  std::vector<size_t> begun_;       ///< Tasks, as they begin.
  std::vector<int64_t> freshTimes_; ///< When its rounds begin.
  std::vector<size_t> woken_;       ///< Programs that may begin an operator.
  std::vector<size_t> missing_;     ///< Per task: operands not there.
  std::vector<uint32_t> missingOf_; ///< Per task: for which proposal.
  std::vector<size_t> resumed_;     ///< Collectives.
};

} // namespace divisi

#endif // DIVISI_SIMULATE_DELTASIMULATOR_H
