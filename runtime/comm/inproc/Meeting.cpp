//===- Meeting.cpp - Where threads of a step meet -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/inproc/Meeting.h"
#include "divisi/runtime/Spin.h"

#include <algorithm>
#include <sstream>

using namespace divisi;
using namespace divisi::rt;

Status AbortState::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

bool AbortState::set(const Status &reason) {
  std::lock_guard lock(mutex_);
  if (isAborted()) {
    return false;
  }
  reason_ = reason;
  aborted_.store(true, std::memory_order_release);
  return true;
}

void AbortState::clear() {
  std::lock_guard lock(mutex_);
  reason_ = {};
  aborted_.store(false, std::memory_order_release);
}

// Under the lock: else it could ring between the question and the wait.
void Bell::ring() {
  std::lock_guard lock(mutex_);
  wake_.notify_one();
}

bool Bell::wait(std::chrono::milliseconds timeout,
                std::chrono::microseconds spin,
                const std::function<bool()> &isOver) {
  if (spin.count() != 0 && spinUntil(spin, isOver)) {
    return true;
  }
  // A deadline on the steady clock: a change of the wall clock is no timeout.
  auto deadline = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  return wake_.wait_until(lock, deadline, isOver);
}

Status Meeting::timeoutError(size_t self,
                             std::chrono::milliseconds timeout) const {
  std::ostringstream missing;
  const char *separator = "";
  for (size_t i = 0; i < present_.size(); ++i) {
    if (!present_[i]) {
      missing << separator << desc.parties[i].rank;
      separator = ", ";
    }
  }
  return makeError(ExitCode::Device, "rank ", desc.parties[self].rank,
                   " waited ", timeout.count(), " ms in ", desc.location,
                   " (tag ", desc.tag, ") for rank ", missing.str(),
                   ", which did not come; raise the timeout if it is busy");
}

Expected<uint64_t> Meeting::arrive(size_t self) {
  uint64_t number;
  {
    std::lock_guard lock(mutex_);
    if (aborts_.isAborted()) {
      return aborts_.reason();
    }
    number = number_.load(std::memory_order_relaxed);
    if (arrived_ + 1 < present_.size()) {
      ++arrived_;
      present_[self] = true;
      return number;
    }
    arrived_ = 0;
    std::fill(present_.begin(), present_.end(), false);
    number_.store(number + 1, std::memory_order_release);
  }
  for (size_t i = 0; i < bells_.size(); ++i) {
    if (i != self) {
      bells_[i]->ring();
    }
  }
  return number;
}

// Under the lock: who comes last would else find all others here and go on,
// with what this rank has given up (an update of globals).
bool Meeting::giveUp(size_t self, uint64_t number,
                     std::chrono::milliseconds timeout) {
  std::lock_guard lock(mutex_);
  return !hasMet(number) && aborts_.set(timeoutError(self, timeout));
}

void Meeting::reset() {
  std::lock_guard lock(mutex_);
  arrived_ = 0;
  std::fill(present_.begin(), present_.end(), false);
}
