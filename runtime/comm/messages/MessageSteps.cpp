//===- MessageSteps.cpp - The kinds of steps, by messages -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Messages.h"
#include "runtime/comm/StepShape.h"
#include "runtime/comm/messages/MessageStep.h"

#include <algorithm>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// Every party sends the others what they want of its box.
class MoveStep : public MessageStep {
public:
  template <typename... Rest>
  MoveStep(MoveMessages plan, Rest &&...rest)
      : MessageStep(plan.bytes, std::forward<Rest>(rest)...),
        plan_(std::move(plan)) {}

private:
  Status begin() override;
  bool work() override;
  std::vector<size_t> senders() const override {
    std::vector<size_t> parties;
    for (const Parcel &parcel : plan_.in) {
      parties.push_back(parcel.party);
    }
    return parties;
  }

  MoveMessages plan_;
};

/// Every party combines the part that it wants.
class CombineStep : public MessageStep {
public:
  template <typename... Rest>
  CombineStep(CombineMessages plan, Rest &&...rest)
      : MessageStep(plan.bytes, std::forward<Rest>(rest)...),
        plan_(std::move(plan)), sources_(step_.parties.size()),
        combine_(findCombine(step_.type, *step_.reduce)) {}

private:
  Status begin() override;
  bool work() override;
  std::vector<size_t> senders() const override;

  CombineMessages plan_;
  std::vector<const std::byte *> sources_;
  CombineFn combine_;
};

/// Every party combines a chunk, which all others get. With so few elements
/// that they are one chunk it is a vote: one party counts, and all others learn
/// from it what came out.
class AllReduceStep : public MessageStep {
public:
  /// A barrier is a vote on nothing, with addresses of its own.
  template <typename... Rest>
  AllReduceStep(bool isBarrier, Rest &&...rest)
      : MessageStep(std::forward<Rest>(rest)...), isBarrier_(isBarrier),
        count_(step_.parties.front().source->count()),
        sources_(step_.parties.size()),
        combine_(findCombine(step_.type, *step_.reduce)) {}

private:
  Status begin() override;
  bool work() override;
  std::vector<size_t> senders() const override;
  bool isBound() const override;

  int64_t chunkOf(size_t party) const {
    return chunkBegin(count_, sources_.size(), party);
  }
  int64_t sizeOf(size_t party) const {
    return chunkOf(party + 1) - chunkOf(party);
  }
  bool isVote() const {
    return std::any_of(step_.parties.begin(), step_.parties.end(),
                       [&, party = size_t(0)](const StepParty &) mutable {
                         return sizeOf(party++) == count_;
                       });
  }
  /// Where a party's part of the own chunk comes: that of one in the result, if
  /// nothing else is there; but nobody sees one vote for the result of all.
  std::byte *slot(size_t party) const {
    if (party == (self_ + 1) % sources_.size() && source_ != result_ &&
        !isVote()) {
      return result_ + chunkOf(self_) * width_;
    }
    return memory_ + slotOf(party, self_) * sizeOf(self_) * width_;
  }

  bool isBarrier_;
  int64_t count_;
  std::vector<const std::byte *> sources_;
  CombineFn combine_;
  std::byte ownVote_{0}, allVotes_{0}; ///< Of a barrier.
};

} // namespace

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

Status MoveStep::begin() {
  for (const Parcel &parcel : plan_.in) {
    std::byte *to = parcel.isDirect()
                        ? result_ + parcel.copies.front().resultOffset()
                        : memory_ + parcel.place;
    if (Status status = receive(parcel.party, to, parcel.bytes);
        !status.isOk()) {
      return status;
    }
  }
  for (const Parcel &parcel : plan_.out) {
    if (parcel.isDirect()) {
      send(parcel.party, source_ + parcel.copies.front().sourceOffset(),
           parcel.bytes);
      continue;
    }
    std::byte *packed = memory_ + parcel.place;
    for (size_t i = 0; i < parcel.copies.size(); ++i) {
      parcel.copies[i].run(source_, packed + parcel.offsets[i]);
    }
    send(parcel.party, packed, parcel.bytes);
  }
  return {};
}

bool MoveStep::work() {
  for (const BoxCopy &copy : plan_.own) {
    copy.run(source_, result_);
  }
  for (const Parcel &parcel : plan_.in) {
    for (size_t i = 0; !parcel.isDirect() && i < parcel.copies.size(); ++i) {
      parcel.copies[i].run(memory_ + parcel.place + parcel.offsets[i], result_);
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::vector<size_t> CombineStep::senders() const {
  return plan_.own.bytes == 0 ? std::vector<size_t>()
                              : othersThan(self_, step_.parties.size());
}

Status CombineStep::begin() {
  auto pack = [&](const Parcel &parcel) -> const std::byte * {
    const BoxCopy &copy = parcel.copies.front();
    if (parcel.isDirect()) {
      return source_ + copy.sourceOffset();
    }
    copy.run(source_, memory_ + parcel.place);
    return memory_ + parcel.place;
  };
  std::byte *slot = memory_ + plan_.slot;
  bool isFree = source_ != result_;
  for (size_t party : senders()) {
    bool isThere = std::exchange(isFree, false);
    std::byte *to = isThere ? result_ : slot;
    slot += isThere ? 0 : plan_.slotBytes;
    sources_[party] = to;
    if (Status status = receive(party, to, plan_.own.bytes); !status.isOk()) {
      return status;
    }
  }
  for (const Parcel &parcel : plan_.out) {
    send(parcel.party, pack(parcel), parcel.bytes);
  }
  sources_[self_] = plan_.own.bytes == 0 ? nullptr : pack(plan_.own);
  return {};
}

bool CombineStep::work() {
  if (plan_.own.bytes != 0) {
    combine_(sources_, 0, result_, 0, plan_.own.bytes / width_);
  }
  return false;
}

std::vector<size_t> AllReduceStep::senders() const {
  std::vector<size_t> parties = othersThan(self_, sources_.size());
  std::erase_if(parties, [&](size_t party) {
    return sizeOf(self_) == 0 && sizeOf(party) == 0;
  });
  return parties;
}

/// Who combines all is bound once it has; the others once they have voted.
bool AllReduceStep::isBound() const {
  bool counts = sizeOf(self_) == count_;
  return isVote() && (phase_ == 1 || (!counts && hasSent()));
}

Status AllReduceStep::begin() {
  if (isBarrier_) {
    source_ = &ownVote_;
    result_ = &allVotes_;
  }
  for (size_t party : othersThan(self_, sources_.size())) {
    bool combines = phase_ == 0;
    size_t owner = combines ? self_ : party;
    std::byte *to = combines ? slot(party) : result_ + chunkOf(party) * width_;
    if (sizeOf(owner) == 0) {
      continue;
    }
    if (combines) {
      sources_[party] = to;
    }
    Status status = receive(party, to, sizeOf(owner) * width_);
    if (!status.isOk()) {
      return status;
    }
  }
  for (size_t party : othersThan(self_, sources_.size())) {
    size_t owner = phase_ == 0 ? party : self_;
    const std::byte *from = phase_ == 0 ? source_ : result_;
    send(party, from + chunkOf(owner) * width_, sizeOf(owner) * width_);
  }
  return {};
}

bool AllReduceStep::work() {
  if (phase_ == 0 && sizeOf(self_) != 0) {
    int64_t begin = chunkOf(self_) * width_;
    sources_[self_] = source_ + begin;
    combine_(sources_, 0, result_ + begin, 0, sizeOf(self_));
  }
  return phase_ == 0;
}

//===----------------------------------------------------------------------===//
// Which one
//===----------------------------------------------------------------------===//

std::unique_ptr<MessageStep>
divisi::rt::makeMessageStep(MessageWorld &world, std::shared_ptr<Link> link,
                            const StepDesc &step, size_t self,
                            std::vector<int> processOf) {
  if (!step.reduce && takesAnything(step)) {
    return std::make_unique<MoveStep>(planMoveMessages(step, self), world,
                                      std::move(link), step, self,
                                      std::move(processOf));
  }
  if (!step.reduce || isAllReduce(step)) {
    return std::make_unique<AllReduceStep>(
        !step.reduce, messageBytes(step, self), world, std::move(link),
        step.reduce ? step : asVote(step), self, std::move(processOf));
  }
  return std::make_unique<CombineStep>(planCombineMessages(step, self), world,
                                       std::move(link), step, self,
                                       std::move(processOf));
}
