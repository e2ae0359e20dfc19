//===- Team.cpp - The threads of one call ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Team.h"
#include "divisi/Support/Thread.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <omp.h>
#include <optional>

namespace divisi::rt::cpu {
namespace {

/// While it lives, libgomp has more threads than there are cores.
class SleepingTeam {
public:
  /// Where the system has no thread for it, threads wait as they did.
  SleepingTeam() {
    if (auto started = Thread::start("sleepers", [this] { sleep(); })) {
      thread_ = std::move(*started);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return isThere_; });
    }
  }
  ~SleepingTeam() {
    {
      std::lock_guard lock(mutex_);
      isOver_ = true;
    }
    changed_.notify_all();
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
  Thread thread_; ///< The last: it uses the others, and is waited for first.
};

/// Decides how the threads of this process wait.
class Waits {
public:
  /// A team of so many threads begins to work.
  void begin(int threads);
  void end(int threads) { busy_ -= threads; }
  bool areAsleep() {
    std::lock_guard lock(mutex_);
    return asleep_.has_value();
  }

private:
  using Clock = std::chrono::steady_clock;

  /// `isContended`: the cores are wanted by more than there are of them.
  void note(Clock::time_point now, bool isContended);

  /// What share of its time a thread lacks a core if others work all the time,
  /// too: measured, for two teams of two threads on two cores, .37 to .45 of
  /// those that wait awake and .37 of those that sleep.
  static constexpr double mostAwake = .33, mostAsleep = .25;
  /// How long cores must be free before threads wait awake again.
  static constexpr std::chrono::milliseconds calm{300};

  std::atomic<int> busy_ = 0; ///< Threads of all teams at work.
  std::mutex mutex_;          ///< Of all that follows.
  std::optional<SleepingTeam> asleep_;
  Clock::time_point lastContended_;
};

/// How the thread that it belongs to gets its cores.
class Share {
public:
  using Clock = std::chrono::steady_clock;

  /// Of the time since the last answer, the share in which the thread wanted a
  /// core and had none; nothing if that was a moment ago.
  std::optional<double> lacked(Clock::time_point now);

private:
  static constexpr std::chrono::milliseconds period{50};

  Clock::time_point last_;
  int64_t lacked_ = 0; ///< Until then.
};

} // namespace

/// How long the calling thread has wanted a core and had none, in ns; 0 if the
/// system does not say (Linux, scheduler/sched-stats.rst).
static int64_t timeWithoutCore() {
  std::ifstream file("/proc/thread-self/schedstat");
  int64_t ran = 0, lacked = 0;
  return file >> ran >> lacked ? lacked : 0;
}

std::optional<double> Share::lacked(Clock::time_point now) {
  if (now - last_ < period) {
    return std::nullopt;
  }
  bool isFirst = last_ == Clock::time_point();
  std::chrono::duration<double, std::nano> since = now - last_;
  int64_t before = lacked_;
  last_ = now;
  lacked_ = timeWithoutCore();
  return isFirst ? std::nullopt
                 : std::optional(double(lacked_ - before) / since.count());
}

void Waits::begin(int threads) {
  static const int cores = omp_get_num_procs();
  static thread_local Share share;
  bool isCrowded = (busy_ += threads) > cores;
  Clock::time_point now = Clock::now();
  std::optional<double> lacked = share.lacked(now);
  if (isCrowded || lacked) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) {
      note(now, isCrowded || *lacked > (asleep_ ? mostAsleep : mostAwake));
    }
  }
}

void Waits::note(Clock::time_point now, bool isContended) {
  lastContended_ = isContended ? now : lastContended_;
  if (lastContended_ == Clock::time_point() || now - lastContended_ > calm) {
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

/// Whether the calling thread has a team: those within it are the same threads.
static thread_local bool hasTeam = false;

TeamSize::TeamSize(int threads)
    : threads_(threads < 1 ? 1 : threads), before_(omp_get_max_threads()),
      counts_(threads_ > 1 && !hasTeam) {
  if (counts_) {
    hasTeam = true;
    waits().begin(threads_);
  }
  omp_set_num_threads(threads_);
}

TeamSize::~TeamSize() {
  omp_set_num_threads(before_);
  if (counts_) {
    waits().end(threads_);
    hasTeam = false;
  }
}

int teamFor(int threads, double operations) {
  // A core does so many in some 10 us, in which a team that sleeps is woken.
  constexpr double least = 5e5;
  return operations < least ? 1 : threads;
}

bool areTeamsAsleep() { return waits().areAsleep(); }

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
