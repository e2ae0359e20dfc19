//===- Team.cpp - The threads of one call ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Team.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <omp.h>
#include <optional>
#include <sys/resource.h>
#include <thread>

namespace divisi::rt::cpu {
namespace {

/// While it lives, libgomp has more threads than there are cores.
class SleepingTeam {
public:
  SleepingTeam() : thread_([this] { sleep(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return isThere_; });
  }
  ~SleepingTeam() {
    {
      std::lock_guard lock(mutex_);
      isOver_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

private:
  void sleep() {
#pragma omp parallel num_threads(omp_get_num_procs() + 1)
    {
#pragma omp barrier // a region of nothing would be left out
    }
    std::unique_lock lock(mutex_);
    isThere_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return isOver_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool isThere_ = false, isOver_ = false;
  std::thread thread_; ///< The last: it uses the others.
};

/// Decides how the threads of this process wait.
class Waits {
public:
  /// A team of so many threads begins to work.
  void begin(int threads);
  void end(int threads) { busy_ -= threads; }

private:
  using Clock = std::chrono::steady_clock;

  void look(Clock::time_point now);

  /// How often it is looked whether others want the cores, and how long they
  /// must not have, before threads wait awake again.
  static constexpr std::chrono::milliseconds period{20}, calm{500};
  /// How often the process may lose a core, per second.
  static constexpr double mostLosses = 100;

  std::atomic<int> busy_ = 0; ///< Threads of all teams at work.
  std::atomic<Clock::rep> nextLook_ = 0;
  std::mutex mutex_; ///< Of all that follows.
  std::optional<SleepingTeam> asleep_;
  Clock::time_point lastLook_, lastLoss_;
  long losses_ = 0;
};

} // namespace

/// How often a thread of this process had to give its core to others.
static long countLosses() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

void Waits::begin(int threads) {
  static const int cores = omp_get_num_procs();
  bool isCrowded = (busy_ += threads) > cores;
  Clock::time_point now = Clock::now();
  if (isCrowded || now.time_since_epoch().count() >= nextLook_) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) {
      lastLoss_ = isCrowded ? now : lastLoss_;
      look(now);
    }
  }
}

void Waits::look(Clock::time_point now) {
  if (now - lastLook_ >= period) {
    long losses = countLosses();
    std::chrono::duration<double> since = now - lastLook_;
    if (double(losses - losses_) > mostLosses * since.count() + 1) {
      lastLoss_ = now;
    }
    losses_ = losses;
    lastLook_ = now;
    nextLook_ = (now + period).time_since_epoch().count();
  }
  bool isCalm = lastLoss_ == Clock::time_point() || now - lastLoss_ > calm;
  if (isCalm) {
    asleep_.reset();
  } else if (!asleep_) {
    asleep_.emplace();
  }
}

/// It is never destroyed: threads may work until the process ends.
static Waits &waits() {
  static auto *waits = new Waits;
  return *waits;
}

TeamSize::TeamSize(int threads)
    : threads_(threads < 1 ? 1 : threads), before_(omp_get_max_threads()) {
  if (threads_ > 1) {
    waits().begin(threads_);
  }
  omp_set_num_threads(threads_);
}

TeamSize::~TeamSize() {
  omp_set_num_threads(before_);
  if (threads_ > 1) {
    waits().end(threads_);
  }
}

void forEach(int threads, int count, void (*body)(void *context, int i),
             void *context) {
  if (threads < 2 || count < 2) {
    for (int i = 0; i < count; ++i) {
      body(context, i);
    }
    return;
  }
  TeamSize team(threads);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; ++i) {
    body(context, i);
  }
}

} // namespace divisi::rt::cpu
