//===- Rounds.cpp - What many do at the same time, timed ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Thread.h"
#include "divisi/runtime/measure/Measure.h"

#include <algorithm>
#include <barrier>
#include <future>
#include <mutex>

using namespace divisi;
using namespace divisi::rt;

using Clock = std::chrono::steady_clock;

static double medianOf(std::vector<double> times) {
  auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double RoundTimes::median(size_t firstPart, size_t parts) const {
  std::vector<double> all;
  for (const std::vector<double> &round : rounds) {
    auto first = round.begin() + std::ptrdiff_t(firstPart);
    all.insert(all.end(), first,
               first +
                   std::ptrdiff_t(std::min(parts, round.size() - firstPart)));
  }
  return medianOf(std::move(all));
}

double RoundTimes::medianOfLongest() const {
  std::vector<double> longest;
  for (const std::vector<double> &round : rounds) {
    longest.push_back(*std::ranges::max_element(round));
  }
  return medianOf(std::move(longest));
}

namespace {

/// What the threads share.
class Rounds {
public:
  Rounds(size_t parts, double seconds)
      : times_(parts), seconds_(seconds),
        barrier_(std::ptrdiff_t(parts), End{*this}) {}

  void work(size_t part,
            const std::function<Expected<double>(size_t part)> &once) {
    while (!isOver_) {
      Expected<double> time = once(part);
      if (time) {
        times_[part] = *time;
      } else {
        std::lock_guard<std::mutex> lock(mutex_);
        failure_ = failure_.isOk() ? time.status() : failure_;
      }
      barrier_.arrive_and_wait(); // which ends the round
    }
  }

  Expected<RoundTimes> result() {
    return failure_.isOk() ? Expected<RoundTimes>(std::move(all_)) : failure_;
  }

private:
  struct End {
    Rounds &rounds;
    void operator()() noexcept { rounds.endRound(); }
  };

  /// Called by one thread while the others wait.
  void endRound() {
    constexpr size_t fewest = 5, most = 2000;
    if (!std::exchange(hasWarmedUp_, true)) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds_));
    } else {
      all_.rounds.push_back(times_);
    }
    bool isEnough = all_.rounds.size() >= fewest && Clock::now() >= deadline_;
    isOver_ = isEnough || all_.rounds.size() == most || !failure_.isOk();
  }

  std::vector<double> times_; ///< Of this round.
  double seconds_;
  bool hasWarmedUp_ = false, isOver_ = false;
  Clock::time_point deadline_;
  RoundTimes all_;
  std::mutex mutex_; ///< Guards `failure_`.
  Status failure_;
  std::barrier<End> barrier_;
};

} // namespace

Expected<RoundTimes> divisi::rt::timeTogether(
    size_t parts, double seconds,
    const std::function<Expected<double>(size_t part)> &work) {
  Rounds rounds(parts, seconds);
  // They wait for each other, and so only begin when all are there.
  std::promise<bool> start;
  std::shared_future<bool> areThere = start.get_future().share();
  std::vector<Thread> threads;
  for (size_t part = 1; part < parts; ++part) {
    auto thread = Thread::start("measurements", [&, part] {
      if (areThere.get()) {
        rounds.work(part, work);
      }
    });
    if (!thread) {
      start.set_value(false);
      return thread.status();
    }
    threads.push_back(std::move(*thread));
  }
  start.set_value(true);
  rounds.work(0, work);
  threads.clear(); // waits for them
  return rounds.result();
}
