//===- Meeting.h - Where threads of a step meet -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step has one meeting place, at which its parties meet two or three times.
// To come is not to wait: who has come asks later whether all have, and may
// come to other meetings meanwhile.
//
//   rank 0   arrive(a) -> 7   arrive(b) -> 3   hasMet(a, 7)?  hasMet(b, 3)?
//   rank 1                    arrive(b) -> 3   hasMet(b, 3)?  wait at its bell
//
// Each rank has a bell, rung at every meeting of its own that comes about.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_INPROC_MEETING_H
#define DIVISI_RUNTIME_COMM_INPROC_MEETING_H

#include "divisi/runtime/comm/Communicator.h"
#include "runtime/comm/AbortState.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace divisi::rt {

/// Wakes one rank.
class Bell {
public:
  /// Wakes it, or lets its next wait not begin. By any thread.
  void ring();
  /// Blocks until `isOver` holds, which whoever makes it true rings after, or
  /// `timeout` has passed, the first `spin` of it awake. Returns whether it
  /// holds.
  bool wait(std::chrono::milliseconds timeout, std::chrono::microseconds spin,
            const std::function<bool()> &isOver);

private:
  std::mutex mutex_;
  std::condition_variable wake_;
};

/// A barrier that can end early, and the pointers that parties show each other.
class Meeting {
public:
  /// `bells` has one per party.
  Meeting(const StepDesc &step, std::vector<Bell *> bells, AbortState &aborts)
      : desc(step), sources(step.parties.size()), results(step.parties.size()),
        bells_(std::move(bells)), aborts_(aborts),
        present_(step.parties.size()) {}

  /// Counts party `self` as come and returns the number of the meeting. Fails
  /// with the reason once the communicator has been aborted.
  Expected<uint64_t> arrive(size_t self);
  /// Whether all have come to meeting `number`.
  bool hasMet(uint64_t number) const {
    return number_.load(std::memory_order_acquire) != number;
  }
  /// Aborts because `self` has waited too long for meeting `number`: nobody can
  /// meet here or elsewhere any more. Returns false, and does not, if it came
  /// about after all or there is a reason already.
  bool giveUp(size_t self, uint64_t number, std::chrono::milliseconds timeout);
  /// Lets parties meet again after an abort.
  void reset();

  /// That of a party, owned by the meeting.
  Bell &bell(size_t party) const { return *bells_[party]; }

  const StepDesc desc; ///< What the parties meet for.
  /// Per party the boxes that it has brought, null until it has come.
  std::vector<const std::byte *> sources;
  std::vector<std::byte *> results;

private:
  std::vector<uint32_t> missing() const;

  std::vector<Bell *> bells_;
  AbortState &aborts_;
  std::mutex mutex_;
  size_t arrived_ = 0;
  std::atomic<uint64_t> number_ = 0; ///< Written under the mutex.
  std::vector<bool> present_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_INPROC_MEETING_H
