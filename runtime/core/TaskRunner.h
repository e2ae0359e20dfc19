//===- TaskRunner.h - Running one task after another ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs single tasks: who is to run next is the business of TaskScheduler and
// GraphRecorder. Keeps what a run finds out on the way: how far it is, when
// tasks began and ended, the first bad index, how long it waited.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_TASKRUNNER_H
#define DIVISI_RUNTIME_CORE_TASKRUNNER_H

#include "runtime/core/RankTask.h"

namespace divisi::rt {

class RankProgram;

/// When a task began and ended, in nanoseconds of the steady clock.
struct TaskEvent {
  int64_t begin = 0; ///< When it was started, or given to its queue.
  int64_t end = 0;   ///< When it had ended.
};

/// A bad index of a call.
struct IndexFault {
  /// The call; in a body the loop, its iteration, and the call, and so on.
  std::vector<uint64_t> at;
  std::string where; ///< Node and operator.
  BadIndex index;    ///< What was wrong.
};

/// See the file's head.
class TaskRunner {
public:
  /// `program` outlives it.
  explicit TaskRunner(RankTasks &program) : program_(program) {}

  /// Keeps an event per task from now on.
  void trace() { events_.resize(program_.tasks.size()); }
  /// Forgets what the last run has found; of a body, the last loop.
  void beginRun();
  /// The next iteration of a body: progress goes on.
  void beginIteration() { progressBase_ += 2 * program_.tasks.size(); }

  /// Runs a task of the host, or puts one on its queue. Fails with where that
  /// is.
  Status run(size_t index);
  /// Runs tasks of the host, one after another, unless the rank is given up.
  Status runAll(std::span<const size_t> tasks);
  /// Takes what a device has found in a task whose work has ended.
  void collect(size_t index);
  /// That the rank has come to a step, or that this is done; one behind all
  /// tasks is the end of the entry.
  void noteStep(size_t index, bool isDone);
  /// That a device has ended the task.
  void noteEnd(size_t index);
  /// That it is at a task, and whether in a kernel or copy.
  void noteProgress(size_t index, bool works) {
    progress_.store(progressBase_ + 2 * index + (works ? 1 : 0),
                    std::memory_order_relaxed);
  }
  /// That it waits where it is.
  void noteWaiting();
  /// That it did nothing but wait since `begin`, of the steady clock.
  void addWaiting(int64_t begin);

  /// The first of the run, in the order of the program.
  const std::optional<IndexFault> &indexFault() const { return indexFault_; }
  /// Nanoseconds of the run in which it did nothing but wait for others.
  int64_t waitingTime() const { return waitingTime_; }
  /// One per task of the last run, if they are traced.
  std::span<const TaskEvent> events() const { return events_; }
  /// See RankProgram::progress().
  uint64_t progress() const;
  /// See RankProgram::locationOf().
  std::string locationOf(uint64_t progress) const;

private:
  Status runTask(RankTask &task);
  Status launch(RankTask &task);
  void noteFault(const RankTask &task, LaunchContext &context);
  // RankLoop.cpp
  Status runLoop(RankTask &task);
  Status copyFirst(RankTask &task, std::span<void *const> to);
  Status awaitFirst(const RankLoop &loop);
  Expected<int64_t> agreeOnCount(const RankTask &task);
  void adoptFault(const RankTask &task);

  RankTasks &program_;
  std::vector<TaskEvent> events_;
  std::optional<IndexFault> indexFault_;
  int64_t waitingTime_ = 0;
  /// Twice the task's index; and 1 while it works. Of a body, more in each
  /// iteration.
  std::atomic<uint64_t> progress_ = 0;
  uint64_t progressBase_ = 0;
  std::atomic<const RankProgram *> inner_ = nullptr; ///< In a loop: the body.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_TASKRUNNER_H
