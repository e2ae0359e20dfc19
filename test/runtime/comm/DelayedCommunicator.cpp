//===- DelayedCommunicator.cpp - A slow network for tests -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/DelayedCommunicator.h"

#include <algorithm>
#include <thread>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

namespace divisi::rt {

/// One rank's share of a step.
class DelayedStep : public CommStep {
public:
  DelayedStep(DelayedCommunicator &owner, DelayedCommunicator::Meeting &meeting,
              uint32_t rank, std::unique_ptr<CommStep> inner)
      : owner_(owner), meeting_(meeting), rank_(rank),
        inner_(std::move(inner)) {}

  int64_t workspaceBytes() const override { return inner_->workspaceBytes(); }
  void setWorkspace(std::byte *memory) override {
    inner_->setWorkspace(memory);
  }
  Status start(const void *source, void *result) override {
    if (std::exchange(resets_, owner_.resets_) != owner_.resets_) {
      round_ = 0;
    }
    isMoved_ = false;
    ++round_;
    auto begin = std::chrono::steady_clock::now();
    owner_.arrive(meeting_);
    Status status = inner_->start(source, result);
    owner_.addTime(rank_, begin);
    return status;
  }

  Expected<bool> poll() override {
    if (!isMoved_) {
      auto begin = std::chrono::steady_clock::now();
      Expected<bool> isDone = inner_->poll();
      owner_.addTime(rank_, begin);
      if (!isDone || !*isDone) {
        return isDone;
      }
      isMoved_ = true;
    }
    std::optional<DelayedCommunicator::Time> due = this->due();
    return !due || std::chrono::steady_clock::now() >= *due;
  }

  /// When it may be done; nothing if others have not come.
  std::optional<DelayedCommunicator::Time> due() {
    return owner_.dueOf(meeting_, round_ - 1);
  }

  uint32_t rank() const { return rank_; }
  CommStep *inner() { return inner_.get(); }
  /// Whether the bytes are there, and only time is missing.
  bool isMoved() const { return isMoved_; }

private:
  DelayedCommunicator &owner_;
  DelayedCommunicator::Meeting &meeting_;
  uint32_t rank_;
  std::unique_ptr<CommStep> inner_;
  size_t round_ = 0, resets_ = 0;
  bool isMoved_ = false;
};

} // namespace divisi::rt

static int64_t bytesOf(const std::optional<Box> &box, DType type) {
  return box ? box->count() * byteWidth(type) : 0;
}

Expected<std::unique_ptr<CommStep>>
DelayedCommunicator::prepare(const StepDesc &step, size_t self) {
  Expected<std::unique_ptr<CommStep>> inner = inner_->prepare(step, self);
  if (!inner) {
    return inner;
  }
  std::lock_guard lock(mutex_);
  Meeting &meeting =
      meetings_[{step.entry, step.tag, step.parties.front().rank}];
  if (meeting.ranks.empty()) {
    for (const StepParty &party : step.parties) {
      meeting.ranks.push_back(party.rank);
      meeting.bytes = std::max({meeting.bytes, bytesOf(party.source, step.type),
                                bytesOf(party.result, step.type)});
    }
  }
  return std::unique_ptr<CommStep>(std::make_unique<DelayedStep>(
      *this, meeting, step.parties[self].rank, std::move(*inner)));
}

void DelayedCommunicator::arrive(Meeting &meeting) {
  std::lock_guard lock(mutex_);
  if (++meeting.arrivals % meeting.ranks.size() != 0) {
    return;
  }
  Time begin = std::chrono::steady_clock::now();
  for (uint32_t rank : meeting.ranks) {
    begin = std::max(begin, linkFree_[rank]);
  }
  auto time = rate_.latency + std::chrono::nanoseconds(int64_t(
                                  rate_.nanosecondsPerByte * meeting.bytes));
  if (rate_.jitter.count() > 0) {
    time += std::chrono::nanoseconds(random_() % rate_.jitter.count());
  }
  meeting.due.push_back(begin + time);
  for (uint32_t rank : meeting.ranks) {
    linkFree_[rank] = begin + time;
    traffic_[rank].bytes += meeting.bytes;
  }
}

std::optional<DelayedCommunicator::Time>
DelayedCommunicator::dueOf(const Meeting &meeting, size_t round) {
  std::lock_guard lock(mutex_);
  return round < meeting.due.size() ? std::optional(meeting.due[round])
                                    : std::nullopt;
}

Traffic DelayedCommunicator::takeTraffic(uint32_t rank) {
  std::lock_guard lock(mutex_);
  return std::exchange(traffic_[rank], {});
}

void DelayedCommunicator::addTime(uint32_t rank, Time begin) {
  std::lock_guard lock(mutex_);
  traffic_[rank].inside += std::chrono::steady_clock::now() - begin;
}

void DelayedCommunicator::wait(std::span<CommStep *const> steps) {
  auto begin = std::chrono::steady_clock::now();
  waitFor(steps);
  addTime(static_cast<DelayedStep *>(steps.front())->rank(), begin);
}

/// Where some steps lack time alone, the others are looked at again soon.
void DelayedCommunicator::waitFor(std::span<CommStep *const> steps) {
  std::vector<CommStep *> inner;
  std::optional<Time> due;
  for (CommStep *step : steps) {
    auto *delayed = static_cast<DelayedStep *>(step);
    inner.push_back(delayed->inner());
    if (delayed->isMoved()) {
      std::optional<Time> own = delayed->due();
      due = std::min(due.value_or(Time::max()), own.value_or(Time::min()));
    }
  }
  if (!due) {
    return inner_->wait(inner);
  }
  auto soon = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  std::this_thread::sleep_until(steps.size() == 1 ? *due
                                                  : std::min(*due, soon));
}

void DelayedCommunicator::reset() {
  inner_->reset();
  std::lock_guard lock(mutex_);
  ++resets_;
  for (auto &[key, meeting] : meetings_) {
    meeting.arrivals = 0;
    meeting.due.clear();
  }
}
