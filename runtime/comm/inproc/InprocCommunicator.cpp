//===- InprocCommunicator.cpp - Ranks as threads of a process -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parties of a step meet (Meeting.h) two or three times:
//
//   publish pointers | fetch or combine own part | done
//   publish pointers | combine own chunk | copy the others' chunks | done
//
// The second form is an all-reduce: everybody combines an equal share of the
// elements, so each is combined once and copied, and the same bits arrive
// everywhere. Nobody is done before all have read, because a source may be
// overwritten by what the rank does next.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "runtime/comm/StepShape.h"
#include "runtime/comm/inproc/Meeting.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace divisi;
using namespace divisi::rt;

namespace {

class InprocCommunicator : public Communicator {
public:
  InprocCommunicator(std::chrono::milliseconds timeout,
                     std::chrono::microseconds spin,
                     std::function<void()> onTimeout)
      : timeout_(timeout), spin_(spin), onTimeout_(std::move(onTimeout)) {}

  Expected<std::unique_ptr<CommStep>> prepare(const StepDesc &step,
                                              size_t self) override;
  void wait(std::span<CommStep *const> steps) override;
  void abort(const Status &reason) override;
  void reset() override;

private:
  Expected<Meeting *> meetingOf(const StepDesc &step);
  void wakeAll();

  std::chrono::milliseconds timeout_;
  std::chrono::microseconds spin_;
  std::function<void()> onTimeout_;
  AbortState aborts_;
  std::mutex mutex_; ///< Guards the maps; what they hold guards itself.
  std::map<uint32_t, Bell> bells_; ///< By rank.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::unique_ptr<Meeting>>
      meetings_;
};

/// The common part of the steps.
class InprocStep : public CommStep {
public:
  InprocStep(const AbortState &aborts, Meeting &meeting, size_t self)
      : meeting_(meeting), self_(self), aborts_(aborts) {}

  Status start(const void *source, void *result) final;
  Expected<bool> poll() final;

  /// Whether poll() may go on.
  bool hasMet() const { return meeting_.hasMet(number_); }
  bool giveUp(std::chrono::milliseconds timeout) {
    return meeting_.giveUp(self_, number_, timeout);
  }
  Bell &bell() const { return meeting_.bell(self_); }

protected:
  /// What is done behind the meeting that `phase` others came before. Returns
  /// whether one more follows.
  virtual bool work(int phase) = 0;
  std::byte *result() const { return meeting_.results[self_]; }

  Meeting &meeting_;
  size_t self_;

private:
  Status arrive();

  const AbortState &aborts_;
  uint64_t number_ = 0; ///< Of the meeting that it has come to.
  int phase_ = 0;
};

/// Every party copies what it wants from the first that has it. With parties
/// that want nothing it is a barrier, which all pass or none.
class MoveStep : public InprocStep {
public:
  MoveStep(const AbortState &aborts, Meeting &meeting, size_t self,
           std::vector<Fetch> fetches)
      : InprocStep(aborts, meeting, self), fetches_(std::move(fetches)) {}

private:
  bool work(int phase) override {
    if (phase != 0) {
      return false;
    }
    for (const Fetch &fetch : fetches_) {
      fetch.copy.run(meeting_.sources[fetch.owner], result());
    }
    // Else nobody's source is read any more.
    return takesAnything(meeting_.desc);
  }

  std::vector<Fetch> fetches_;
};

/// Every party combines the part that it wants: reduce-scatter.
class CombineStep : public InprocStep {
public:
  CombineStep(const AbortState &aborts, Meeting &meeting, size_t self,
              CombineFn combine, BoxCopy part)
      : InprocStep(aborts, meeting, self), combine_(combine),
        part_(std::move(part)), width_(byteWidth(meeting.desc.type)) {}

private:
  bool work(int phase) override {
    if (phase != 0) {
      return false;
    }
    part_.forEachRun([&](int64_t from, int64_t to, int64_t bytes) {
      combine_(meeting_.sources, from, result(), to, bytes / width_);
    });
    return true;
  }

  CombineFn combine_;
  BoxCopy part_;
  int64_t width_;
};

/// All parties hold and want the same box: all-reduce by chunks.
class ChunkedStep : public InprocStep {
public:
  ChunkedStep(const AbortState &aborts, Meeting &meeting, size_t self,
              CombineFn combine, int64_t count)
      : InprocStep(aborts, meeting, self), combine_(combine),
        width_(byteWidth(meeting.desc.type)), count_(count) {}

private:
  bool work(int phase) override;

  int64_t chunkBegin(size_t chunk) const {
    return rt::chunkBegin(count_, meeting_.sources.size(), chunk);
  }

  CombineFn combine_;
  int64_t width_, count_;
};

} // namespace

Status InprocStep::arrive() {
  Expected<uint64_t> number = meeting_.arrive(self_);
  number_ = number ? *number : 0;
  return number ? Status() : number.status();
}

Status InprocStep::start(const void *source, void *result) {
  meeting_.sources[self_] = static_cast<const std::byte *>(source);
  meeting_.results[self_] = static_cast<std::byte *>(result);
  phase_ = 0;
  return arrive();
}

Expected<bool> InprocStep::poll() {
  while (hasMet()) {
    if (!work(phase_++)) {
      return true;
    }
    if (Status status = arrive(); !status.isOk()) {
      return status;
    }
  }
  return aborts_.isAborted() ? Expected<bool>(aborts_.reason()) : false;
}

bool ChunkedStep::work(int phase) {
  if (phase == 0) {
    int64_t begin = chunkBegin(self_);
    combine_(meeting_.sources, begin * width_, result(), begin * width_,
             chunkBegin(self_ + 1) - begin);
    return true;
  }
  if (phase == 2) {
    return false;
  }
  for (size_t i = 0; i < meeting_.results.size(); ++i) {
    int64_t offset = chunkBegin(i) * width_;
    if (i != self_) {
      std::copy_n(meeting_.results[i] + offset,
                  chunkBegin(i + 1) * width_ - offset, result() + offset);
    }
  }
  return true;
}

void InprocCommunicator::wait(std::span<CommStep *const> steps) {
  auto own = [](CommStep *step) { return static_cast<InprocStep *>(step); };
  InprocStep &first = *own(steps.front());
  bool isOver = first.bell().wait(timeout_, spin_, [&] {
    return aborts_.isAborted() ||
           std::any_of(steps.begin(), steps.end(),
                       [&](CommStep *step) { return own(step)->hasMet(); });
  });
  // The first has waited for longest.
  if (!isOver && first.giveUp(timeout_)) {
    if (onTimeout_) {
      onTimeout_();
    }
    wakeAll();
  }
}

void InprocCommunicator::abort(const Status &reason) {
  if (aborts_.set(reason)) {
    wakeAll();
  }
}

void InprocCommunicator::wakeAll() {
  std::lock_guard lock(mutex_);
  for (auto &[rank, bell] : bells_) {
    bell.ring();
  }
}

void InprocCommunicator::reset() {
  std::lock_guard lock(mutex_);
  aborts_.clear();
  for (auto &[key, meeting] : meetings_) {
    meeting->reset();
  }
}

Expected<Meeting *> InprocCommunicator::meetingOf(const StepDesc &step) {
  std::lock_guard lock(mutex_);
  auto &slot = meetings_[{step.entry, step.tag, step.parties.front().rank}];
  if (!slot) {
    std::vector<Bell *> bells;
    for (const StepParty &party : step.parties) {
      bells.push_back(&bells_[party.rank]);
    }
    slot = std::make_unique<Meeting>(step, std::move(bells), aborts_);
  } else if (slot->desc != step) {
    return otherStepError(step);
  }
  return slot.get();
}

Expected<std::unique_ptr<CommStep>>
InprocCommunicator::prepare(const StepDesc &step, size_t self) {
  Expected<std::vector<Fetch>> fetches = std::vector<Fetch>();
  if (!step.reduce) {
    fetches = planMove(step, self);
  } else if (Status status = checkReduce(step, self); !status.isOk()) {
    return status;
  }
  Expected<Meeting *> meeting =
      fetches ? meetingOf(step) : Expected<Meeting *>(fetches.status());
  if (!meeting) {
    return meeting.status();
  }
  std::unique_ptr<CommStep> share;
  if (!step.reduce) {
    share = std::make_unique<MoveStep>(aborts_, **meeting, self,
                                       std::move(*fetches));
    return share;
  }
  CombineFn combine = findCombine(step.type, *step.reduce);
  const StepParty &party = step.parties[self];
  if (isAllReduce(step)) {
    share = std::make_unique<ChunkedStep>(aborts_, **meeting, self, combine,
                                          party.result->count());
  } else {
    share = std::make_unique<CombineStep>(aborts_, **meeting, self, combine,
                                          BoxCopy(byteWidth(step.type),
                                                  *party.result, *party.source,
                                                  *party.result));
  }
  return share;
}

std::unique_ptr<Communicator>
divisi::rt::makeInprocCommunicator(std::chrono::milliseconds timeout,
                                   std::chrono::microseconds spin,
                                   std::function<void()> onTimeout) {
  return std::make_unique<InprocCommunicator>(timeout, spin,
                                              std::move(onTimeout));
}
