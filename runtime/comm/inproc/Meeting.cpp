//===- Meeting.cpp - Where threads of a step meet -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/inproc/Meeting.h"
#include "divisi/runtime/comm/Spin.h"
#include "runtime/comm/StepShape.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

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

std::vector<uint32_t> Meeting::missing() const {
  std::vector<uint32_t> missing;
  for (size_t i = 0; i < present_.size(); ++i) {
    if (!present_[i]) {
      missing.push_back(desc.parties[i].rank);
    }
  }
  return missing;
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
  return !hasMet(number) &&
         aborts_.set(timeoutError(desc, self, missing(), timeout));
}

void Meeting::reset() {
  std::lock_guard lock(mutex_);
  arrived_ = 0;
  std::fill(present_.begin(), present_.end(), false);
}
