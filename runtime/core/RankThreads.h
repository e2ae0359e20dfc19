//===- RankThreads.h - One thread per rank ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKTHREADS_H
#define DIVISI_RUNTIME_CORE_RANKTHREADS_H

#include "divisi/Support/Thread.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace divisi::rt {

/// Asked every `interval` while ranks work: an error gives them up.
struct RankWatch {
  std::chrono::milliseconds interval{0}; ///< How often `check` is asked.
  /// Success lets them go on; null: nobody asks.
  std::function<Status()> check;
};

/// Threads that live as long as this object and do one job after the other.
class RankThreads {
public:
  /// What one rank does; it owns all that it refers to, or what it refers to
  /// outlives this object.
  using Job = std::function<Status(uint32_t rank)>;
  using OnError = std::function<void(const Status &)>;

  /// Who waits, the threads for work or the caller for them, looks for it for
  /// `spin` before it sleeps. Fails with Device if the system has no thread for
  /// some rank.
  static Expected<std::unique_ptr<RankThreads>>
  start(uint32_t numRanks, std::chrono::microseconds spin);
  ~RankThreads();

  /// Runs `job` on all threads and returns when all are done: the error of the
  /// rank that failed first in time, or success. `onError` is called on the
  /// failing rank's thread before it waits for the others, to end their waits.
  /// Where `watch` gives up, that is called too, and if there is a rank that
  /// does not even then come back within an interval, its error is returned and
  /// isStuck() from then on: no job can be run any more.
  Status runOnAll(Job job, OnError onError, const RankWatch &watch = {});
  /// Whether some thread has not come back from a job.
  bool isStuck() const { return isStuck_; }

  /// Lets the threads go that are stuck. `owner` holds this object and all that
  /// jobs use; it is destroyed when the last thread has ended, if ever.
  void abandon(std::shared_ptr<void> owner);

private:
  RankThreads(uint32_t numRanks, std::chrono::microseconds spin)
      : spin_(spin), alive_(numRanks) {}

  struct Work {
    Job job;
    OnError onError;
  };

  void loop(uint32_t rank);
  bool hasNews(uint64_t seen) const { return stops_ || generation_ != seen; }

  const std::chrono::microseconds spin_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  // Written under the mutex, and looked at without.
  /// Of the work; new work begins when it changes.
  std::atomic<uint64_t> generation_ = 0;
  std::atomic<size_t> running_ = 0;
  std::atomic<bool> stops_ = false;
  size_t alive_; ///< Threads that have not left their loop.
  bool isStuck_ = false;
  std::shared_ptr<const Work> work_;
  Status firstError_;
  std::shared_ptr<void> owner_; ///< Only after abandon().
  std::vector<Thread> threads_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKTHREADS_H
