//===- RankThreads.h - One thread per rank --------------------*- C++ -*--===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_CORE_RANKTHREADS_H
#define RUNTIME_CORE_RANKTHREADS_H

#include "divisi/Support/Status.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace divisi::rt {

/// Threads that live as long as this object and do one job after the other.
class RankThreads {
public:
  using Job = std::function<Status(uint32_t rank)>;

  explicit RankThreads(uint32_t numRanks);
  ~RankThreads();

  /// Runs `job` on all threads and returns when all are done: the error of the
  /// rank that failed first in time, or success. `onError` is called on the
  /// failing rank's thread before it waits for the others, to end their waits.
  Status runOnAll(const Job &job,
                  const std::function<void(const Status &)> &onError);

private:
  void loop(uint32_t rank);

  std::mutex mutex_;
  std::condition_variable start_, done_;
  uint64_t generation_ = 0; ///< Of the job; a new one begins when it changes.
  size_t running_ = 0;
  bool stops_ = false;
  const Job *job_ = nullptr;
  const std::function<void(const Status &)> *onError_ = nullptr;
  Status firstError_;
  std::vector<std::thread> threads_;
};

} // namespace divisi::rt

#endif // RUNTIME_CORE_RANKTHREADS_H
