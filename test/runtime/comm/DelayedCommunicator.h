//===- DelayedCommunicator.h - A slow network for tests ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets another communicator do the work, and says that a step is done only when
// a network of a given latency and rate would have done it: from when the last
// party has come, and when the links of all parties are free, one step after
// another on each.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_COMM_DELAYEDCOMMUNICATOR_H
#define DIVISI_TEST_RUNTIME_COMM_DELAYEDCOMMUNICATOR_H

#include "divisi/runtime/comm/Communicator.h"

#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <tuple>
#include <vector>

namespace divisi::rt {

/// A network.
struct NetworkRate {
  std::chrono::nanoseconds latency{0}; ///< Of a step.
  double nanosecondsPerByte = 0;       ///< Of the largest box that a party has.
  std::chrono::nanoseconds jitter{0};  ///< A step takes up to so much more.
};

/// What a rank has done on a network.
struct Traffic {
  int64_t bytes = 0;                  ///< Each step's largest box.
  std::chrono::nanoseconds inside{0}; ///< In calls of the communicator.
};

/// See the file's head.
class DelayedCommunicator : public Communicator {
public:
  /// Of `inner`, as fast as that is at first.
  explicit DelayedCommunicator(std::shared_ptr<Communicator> inner)
      : inner_(std::move(inner)) {}

  /// Between runs.
  void setRate(NetworkRate rate) { rate_ = rate; }
  /// What `rank` has done since it was asked last.
  Traffic takeTraffic(uint32_t rank);

  Expected<std::unique_ptr<CommStep>> prepare(const StepDesc &step,
                                              size_t self) override;
  void wait(std::span<CommStep *const> steps) override;
  void abort(const Status &reason) override { inner_->abort(reason); }
  void reset() override;

private:
  friend class DelayedStep;
  using Time = std::chrono::steady_clock::time_point;

  /// A step, for all of its parties.
  struct Meeting {
    std::vector<uint32_t> ranks;
    int64_t bytes = 0;
    size_t arrivals = 0;
    std::vector<Time> due; ///< Per run, once all have come.
  };

  /// The `round`th time that a rank comes to `meeting`.
  void arrive(Meeting &meeting);
  std::optional<Time> dueOf(const Meeting &meeting, size_t round);
  void waitFor(std::span<CommStep *const> steps);
  /// That `rank` was inside since `begin`.
  void addTime(uint32_t rank, Time begin);

  std::shared_ptr<Communicator> inner_;
  NetworkRate rate_;
  std::mutex mutex_;
  /// By entry, tag and first rank.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Meeting> meetings_;
  std::map<uint32_t, Time> linkFree_;   ///< By rank.
  std::map<uint32_t, Traffic> traffic_; ///< By rank.
  std::mt19937_64 random_;
  size_t resets_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_COMM_DELAYEDCOMMUNICATOR_H
