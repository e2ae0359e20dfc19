//===- TaskScheduler.h - Which task of a rank is next -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread runs all queues. It starts every collective whose turn it is and
// polls those in flight between kernels, and blocks only when no queue has
// anything else to do:
//
//   compute        call     call              call (after the reduce)
//   communicator      start·····poll·····wait·
//
// What is done by a device with queues of its own has then only begun. What
// comes after it on the same device begins at once, and waits for it there; all
// else when it has ended.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_TASKSCHEDULER_H
#define DIVISI_RUNTIME_CORE_TASKSCHEDULER_H

#include "runtime/core/TaskRunner.h"

namespace divisi::rt {

/// See the file's head.
class TaskScheduler {
public:
  /// Both outlive it.
  TaskScheduler(RankTasks &program, TaskRunner &runner)
      : program_(program), runner_(runner) {}

  /// Adds a queue without tasks behind those that there are.
  void addQueue() { queues_.emplace_back(); }
  /// Adds a task to a queue; how many that has then.
  size_t append(uint32_t queue, size_t task);
  /// Lets a task be the commit: all ranks vote there whether the run goes on.
  void setCommit(size_t task);
  /// After the last task: allocates what running needs.
  void finishBuilding() { inFlight_.reserve(queues_.size()); }
  /// The tasks of each queue, in order.
  std::vector<const std::vector<size_t> *> queues() const;

  /// Before a run, however its tasks are run.
  void beginRun() { isStopped_ = hasVoted_ = false; }
  /// Runs all tasks; up to the commit only, without an error, if a rank has met
  /// a bad index before.
  Status run();
  /// Whether the last run ended there.
  bool isStopped() const { return isStopped_; }
  /// After a failure: until no device touches memory of the run any more. A
  /// step that waits for others is ended first.
  void awaitDevices();

private:
  /// Tasks that run in order, and how far they are.
  struct Queue {
    std::vector<size_t> tasks;
    size_t done = 0;  ///< How many have ended, ...
    size_t begun = 0; ///< ... and how many have begun.

    bool isOver() const { return done == tasks.size(); }
    bool isInFlight() const { return begun != done; }
    /// The first that has not ended.
    size_t next() const { return tasks[done]; }
  };

  bool canWaitThere(const RankTask &task, const RankTask::Wait &wait) const;
  bool isNext(const RankTask &task) const;
  bool mayBegin(const Queue &queue, const RankTask &task) const;
  Status beginOnDevice(size_t index);
  Expected<bool> collectEnded(Queue &queue);
  Expected<bool> advance(Queue &queue);
  Expected<bool> advanceComm(Queue &queue);
  Expected<bool> advanceAll(bool steps);
  Expected<bool> advanceQueues();
  Status waitForOthers();

  RankTasks &program_;
  TaskRunner &runner_;
  std::vector<Queue> queues_;        ///< Those in use.
  std::vector<CommStep *> inFlight_; ///< While waiting; has room for all.
  size_t numQueued_ = 0;     ///< Steps on queues begun since run() was called.
  size_t commit_ = SIZE_MAX; ///< The task; else there is none.
  bool commitVote_ = false;  ///< Whether it must not.
  bool hasVoted_ = false;    ///< Whether it has come to the commit.
  bool isStopped_ = false;   ///< Whether a rank has said that.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_TASKSCHEDULER_H
