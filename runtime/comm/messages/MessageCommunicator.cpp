//===- MessageCommunicator.cpp - Ranks that send messages -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/messages/MessageCommunicator.h"
#include "divisi/runtime/comm/Spin.h"
#include "runtime/comm/StepShape.h"
#include "runtime/comm/messages/MessageStep.h"

#include <algorithm>
#include <thread>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<CommStep>>
MessageCommunicator::prepare(const StepDesc &step, size_t self) {
  Status status =
      step.reduce ? checkReduce(step, self) : planMove(step, self).status();
  if (!status.isOk()) {
    return status;
  }
  std::vector<int> processOf;
  for (const StepParty &party : step.parties) {
    processOf.push_back(static_cast<int>(processOf_[party.rank]));
  }
  std::unique_ptr<MessageStep> share =
      makeMessageStep(world_, link_, step, self, std::move(processOf));
  {
    auto lock = world_.wire.lock();
    status = share->announce();
  }
  return status.isOk() ? Expected<std::unique_ptr<CommStep>>(std::move(share))
                       : status;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// How long who has been asked for whom he waits may take to say so; who is in
/// a kernel does not, and has not come.
static constexpr std::chrono::milliseconds answerTime(300);

namespace {

/// Messages wake nobody: who waits looks, ever less often.
class Pause {
public:
  void operator()() {
    constexpr int yields = 100;
    constexpr std::chrono::microseconds longest(500);
    if (count_++ < yields) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(longest, sleep_ * 5 / 4 + std::chrono::microseconds(1));
  }

private:
  int count_ = 0;
  std::chrono::microseconds sleep_{10};
};

} // namespace

void MessageCommunicator::wait(std::span<CommStep *const> steps) {
  auto own = [](CommStep *step) { return static_cast<MessageStep *>(step); };
  auto isAnyReady = [&] {
    world_.noteCall();
    return std::any_of(steps.begin(), steps.end(),
                       [&](CommStep *step) { return own(step)->drive(); });
  };
  auto deadline = std::chrono::steady_clock::now() + timeout_;
  if (spin_.count() != 0 && spinUntil(spin_, isAnyReady)) {
    return;
  }
  struct Waiting {
    explicit Waiting(std::span<CommStep *const> steps) : steps(steps) {
      mark(true);
    }
    ~Waiting() { mark(false); }
    void mark(bool isWaitedFor) const {
      for (CommStep *step : steps) {
        static_cast<MessageStep *>(step)->setWaitedFor(isWaitedFor);
      }
    }
    std::span<CommStep *const> steps;
  } waiting(steps);
  // The first has waited for longest.
  MessageStep &late = *own(steps.front());
  bool hasAsked = false, hasGivenUp = false;
  for (Pause pause; !isAnyReady(); pause()) {
    if (hasGivenUp || std::chrono::steady_clock::now() < deadline) {
      continue;
    }
    if (!std::exchange(hasAsked, true) && late.inquire().isOk()) {
      deadline += answerTime;
    }
    if (late.isAnswered() || std::chrono::steady_clock::now() > deadline) {
      late.giveUp(timeout_);
      hasGivenUp = true;
    }
  }
}
