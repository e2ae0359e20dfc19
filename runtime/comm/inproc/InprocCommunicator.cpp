//===- InprocCommunicator.cpp - Ranks as threads of a process -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step has one meeting place, shared by its parties. They meet there two or
// three times:
//
//   publish pointers | fetch or combine own part | done
//   publish pointers | combine own chunk | copy the others' chunks | done
//
// The second form is an all-reduce: everybody combines an equal share of the
// elements, so each is combined once and copied, and the same bits arrive
// everywhere. Nobody leaves before all have read, because a source may be
// overwritten by what the rank does next.
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/InprocCommunicator.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// What all meetings of a communicator share: whether it goes on at all.
class AbortState {
public:
  bool isAborted() const { return aborted_.load(std::memory_order_acquire); }
  Status reason() const {
    std::lock_guard lock(mutex_);
    return reason_;
  }
  /// Returns false if there is a reason already.
  bool set(const Status &reason) {
    std::lock_guard lock(mutex_);
    if (isAborted()) {
      return false;
    }
    reason_ = reason;
    aborted_.store(true, std::memory_order_release);
    return true;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    reason_ = {};
    aborted_.store(false, std::memory_order_release);
  }

private:
  mutable std::mutex mutex_;
  std::atomic<bool> aborted_ = false;
  Status reason_;
};

/// Where the parties of a step meet: a barrier that can end early, and the
/// pointers that they show each other.
class Meeting {
public:
  Meeting(const StepDesc &step, AbortState &aborts)
      : desc(step), sources(step.parties.size()), results(step.parties.size()),
        aborts_(aborts), present_(step.parties.size()) {}

  /// How a wait ended.
  struct End {
    Status status;
    bool isTimeout = false; ///< The caller has to wake those who wait.
  };
  /// Blocks until all parties have come. When the time is up, nobody can meet
  /// here or elsewhere any more.
  End wait(size_t self, std::chrono::milliseconds timeout);
  void wakeAll() {
    std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  void reset() {
    std::lock_guard lock(mutex_);
    arrived_ = 0;
    std::fill(present_.begin(), present_.end(), false);
  }

  const StepDesc desc;
  std::vector<const std::byte *> sources;
  std::vector<std::byte *> results;

private:
  Status timeoutError(size_t self, std::chrono::milliseconds timeout) const;

  AbortState &aborts_;
  std::mutex mutex_;
  std::condition_variable wake_;
  size_t arrived_ = 0;
  uint64_t generation_ = 0;
  std::vector<bool> present_;
};

class InprocCommunicator : public Communicator {
public:
  InprocCommunicator(std::chrono::milliseconds timeout,
                     std::function<void()> onTimeout)
      : timeout_(timeout), onTimeout_(std::move(onTimeout)) {}

  Expected<std::unique_ptr<CommStep>> prepare(const StepDesc &step,
                                              size_t self) override;
  void abort(const Status &reason) override;
  void reset() override;

  /// Meeting::wait that tells everybody when the time is up.
  Status meet(Meeting &meeting, size_t self);

private:
  void wakeAll();

  std::chrono::milliseconds timeout_;
  std::function<void()> onTimeout_;
  AbortState aborts_;
  std::mutex mutex_; ///< Guards the map; meetings guard themselves.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::unique_ptr<Meeting>>
      meetings_;
};

/// The common part of the steps.
class InprocStep : public CommStep {
public:
  InprocStep(InprocCommunicator &communicator, Meeting &meeting, size_t self)
      : communicator_(communicator), meeting_(meeting), self_(self) {}

protected:
  Status publish(const void *source, void *result) {
    meeting_.sources[self_] = static_cast<const std::byte *>(source);
    meeting_.results[self_] = static_cast<std::byte *>(result);
    return communicator_.meet(meeting_, self_);
  }
  Status meet() { return communicator_.meet(meeting_, self_); }

  InprocCommunicator &communicator_;
  Meeting &meeting_;
  size_t self_;
};

/// Every party copies what it wants from the first that has it. With parties
/// that want nothing it is a barrier, which all pass or none.
class MoveStep : public InprocStep {
public:
  MoveStep(InprocCommunicator &communicator, Meeting &meeting, size_t self,
           std::vector<Fetch> fetches)
      : InprocStep(communicator, meeting, self), fetches_(std::move(fetches)) {}

  Status run(const void *source, void *result) override {
    if (Status status = publish(source, result); !status.isOk()) {
      return status;
    }
    for (const Fetch &fetch : fetches_) {
      fetch.copy.run(meeting_.sources[fetch.owner],
                     static_cast<std::byte *>(result));
    }
    // Where nobody takes anything, nobody's source is read any more.
    return takesAnything() ? meet() : Status();
  }

private:
  bool takesAnything() const {
    return std::any_of(
        meeting_.desc.parties.begin(), meeting_.desc.parties.end(),
        [](const StepParty &party) { return party.result.has_value(); });
  }

  std::vector<Fetch> fetches_;
};

/// Every party combines the part that it wants: reduce-scatter.
class CombineStep : public InprocStep {
public:
  CombineStep(InprocCommunicator &communicator, Meeting &meeting, size_t self,
              CombineFn combine, BoxCopy part)
      : InprocStep(communicator, meeting, self), combine_(combine),
        part_(std::move(part)), width_(byteWidth(meeting.desc.type)) {}

  Status run(const void *source, void *result) override {
    if (Status status = publish(source, result); !status.isOk()) {
      return status;
    }
    part_.forEachRun([&](int64_t from, int64_t to, int64_t bytes) {
      combine_(meeting_.sources, from, static_cast<std::byte *>(result), to,
               bytes / width_);
    });
    return meet();
  }

private:
  CombineFn combine_;
  BoxCopy part_;
  int64_t width_;
};

/// All parties hold and want the same box: all-reduce by chunks.
class ChunkedStep : public InprocStep {
public:
  ChunkedStep(InprocCommunicator &communicator, Meeting &meeting, size_t self,
              CombineFn combine, int64_t count)
      : InprocStep(communicator, meeting, self), combine_(combine),
        width_(byteWidth(meeting.desc.type)), count_(count) {}

  Status run(const void *source, void *result) override;

private:
  /// Chunk boundaries, on whole cache lines.
  int64_t chunkBegin(size_t chunk) const {
    constexpr int64_t line = 64;
    int64_t lines = (count_ + line - 1) / line;
    int64_t parties = static_cast<int64_t>(meeting_.sources.size());
    return std::min(count_,
                    lines * static_cast<int64_t>(chunk) / parties * line);
  }

  CombineFn combine_;
  int64_t width_, count_;
};

} // namespace

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

Meeting::End Meeting::wait(size_t self, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (aborts_.isAborted()) {
    return {aborts_.reason()};
  }
  if (arrived_ + 1 == present_.size()) {
    arrived_ = 0;
    std::fill(present_.begin(), present_.end(), false);
    ++generation_;
    wake_.notify_all();
    return {Status()};
  }
  ++arrived_;
  present_[self] = true;
  uint64_t generation = generation_;
  auto done = [&] { return generation_ != generation || aborts_.isAborted(); };
  // A deadline on the steady clock: a change of the wall clock is no timeout.
  auto deadline = std::chrono::steady_clock::now() + timeout;
  if (!wake_.wait_until(lock, deadline, done)) {
    // Under the lock: who comes last would else find all others here and go on,
    // with what this rank has given up (an update of globals).
    aborts_.set(timeoutError(self, timeout));
    return {aborts_.reason(), /*isTimeout=*/true};
  }
  return {generation_ != generation ? Status() : aborts_.reason()};
}

Status ChunkedStep::run(const void *source, void *result) {
  if (Status status = publish(source, result); !status.isOk()) {
    return status;
  }
  auto *out = static_cast<std::byte *>(result);
  int64_t begin = chunkBegin(self_) * width_;
  combine_(meeting_.sources, begin, out, begin,
           chunkBegin(self_ + 1) - chunkBegin(self_));
  if (Status status = meet(); !status.isOk()) {
    return status;
  }
  for (size_t i = 0; i < meeting_.results.size(); ++i) {
    int64_t offset = chunkBegin(i) * width_;
    if (i != self_) {
      std::copy_n(meeting_.results[i] + offset,
                  chunkBegin(i + 1) * width_ - offset, out + offset);
    }
  }
  return meet();
}

Status InprocCommunicator::meet(Meeting &meeting, size_t self) {
  Meeting::End end = meeting.wait(self, timeout_);
  if (end.isTimeout) {
    if (onTimeout_) {
      onTimeout_();
    }
    wakeAll();
  }
  return end.status;
}

void InprocCommunicator::abort(const Status &reason) {
  if (aborts_.set(reason)) {
    wakeAll();
  }
}

void InprocCommunicator::wakeAll() {
  std::lock_guard lock(mutex_);
  for (auto &[key, meeting] : meetings_) {
    meeting->wakeAll();
  }
}

void InprocCommunicator::reset() {
  std::lock_guard lock(mutex_);
  aborts_.clear();
  for (auto &[key, meeting] : meetings_) {
    meeting->reset();
  }
}

/// The boxes that parties hold; who holds none has one without elements.
static std::vector<Box> sourceBoxes(const StepDesc &step) {
  std::vector<Box> boxes;
  size_t rank = 0;
  for (const StepParty &party : step.parties) {
    if (party.source) {
      rank = party.source->rank();
    }
  }
  // Rank 0 has no empty box: one of rank 1 stands in, which planFetches never
  // looks at because such parties are not in the order.
  for (const StepParty &party : step.parties) {
    boxes.push_back(party.source ? *party.source : Box::whole(Dims(rank, 0)));
  }
  return boxes;
}

static Expected<std::vector<Fetch>> planMove(const StepDesc &step,
                                             size_t self) {
  std::vector<Fetch> fetches;
  if (!step.parties[self].result) {
    return fetches;
  }
  std::vector<size_t> order;
  if (step.parties[self].source) {
    order.push_back(self);
  }
  for (size_t i = 0; i < step.parties.size(); ++i) {
    if (i != self && step.parties[i].source) {
      order.push_back(i);
    }
  }
  if (!planFetches(byteWidth(step.type), *step.parties[self].result,
                   sourceBoxes(step), order, fetches)) {
    return makeError(ExitCode::Invalid, step.location, ": rank ",
                     step.parties[self].rank,
                     " needs elements that no rank of its group holds");
  }
  return fetches;
}

/// Whether all parties hold the same box, and all want exactly that one.
static bool isAllReduce(const StepDesc &step) {
  for (const StepParty &party : step.parties) {
    if (party.result != step.parties.front().source) {
      return false;
    }
  }
  return true;
}

static Status checkReduce(const StepDesc &step, size_t self) {
  const StepParty &first = step.parties.front();
  for (const StepParty &party : step.parties) {
    if (!party.source || party.source != first.source) {
      return makeError(ExitCode::Invalid, step.location,
                       ": the ranks of a group hold different boxes of the "
                       "value that they combine");
    }
  }
  const StepParty &party = step.parties[self];
  if (!party.result || !contains(*party.source, *party.result)) {
    return makeError(ExitCode::Invalid, step.location, ": rank ", party.rank,
                     " wants elements outside of what its group holds");
  }
  if (!findCombine(step.type, *step.reduce)) {
    return makeError(ExitCode::Unsupported, step.location, ": no ",
                     stringify(*step.reduce), " of ", stringify(step.type));
  }
  return {};
}

Expected<std::unique_ptr<CommStep>>
InprocCommunicator::prepare(const StepDesc &step, size_t self) {
  Meeting *meeting;
  {
    std::lock_guard lock(mutex_);
    auto &slot = meetings_[{step.entry, step.tag, step.parties.front().rank}];
    if (!slot) {
      slot = std::make_unique<Meeting>(step, aborts_);
    }
    meeting = slot.get();
  }
  std::unique_ptr<CommStep> share;
  if (!step.reduce) {
    Expected<std::vector<Fetch>> fetches = planMove(step, self);
    if (!fetches) {
      return fetches.status();
    }
    share =
        std::make_unique<MoveStep>(*this, *meeting, self, std::move(*fetches));
    return share;
  }
  if (Status status = checkReduce(step, self); !status.isOk()) {
    return status;
  }
  CombineFn combine = findCombine(step.type, *step.reduce);
  const StepParty &party = step.parties[self];
  if (isAllReduce(step)) {
    share = std::make_unique<ChunkedStep>(*this, *meeting, self, combine,
                                          party.result->count());
  } else {
    share = std::make_unique<CombineStep>(*this, *meeting, self, combine,
                                          BoxCopy(byteWidth(step.type),
                                                  *party.result, *party.source,
                                                  *party.result));
  }
  return share;
}

std::unique_ptr<Communicator>
divisi::rt::makeInprocCommunicator(std::chrono::milliseconds timeout,
                                   std::function<void()> onTimeout) {
  return std::make_unique<InprocCommunicator>(timeout, std::move(onTimeout));
}
