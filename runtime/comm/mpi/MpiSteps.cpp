//===- MpiSteps.cpp - The kinds of steps, over MPI ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/StepShape.h"
#include "runtime/comm/mpi/MpiStep.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// All pieces that travel between two parties, in one message.
struct Parcel {
  size_t party;
  int64_t bytes = 0;
  /// Between the own box and the message. One that is contiguous needs no
  /// packing: the box itself is sent, or written.
  std::vector<BoxCopy> copies;
  std::vector<int64_t> offsets; ///< Of each in the message.
  int64_t place = 0;            ///< In the step's buffer, of what is packed.

  bool isDirect() const {
    return copies.size() == 1 && copies.front().isContiguous();
  }
};

/// Every party sends the others what they want of its box.
class MoveStep : public MpiStep {
public:
  struct Plan {
    std::vector<Parcel> out, in;
    std::vector<BoxCopy> own;
    int64_t bytes = 0; ///< Of the buffer.
  };
  static Plan plan(const StepDesc &step, size_t self);

  template <typename... Rest>
  MoveStep(Plan plan, Rest &&...rest)
      : MpiStep(std::forward<Rest>(rest)...), plan_(std::move(plan)) {}

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

  Plan plan_;
};

/// Every party combines the part that it wants.
class CombineStep : public MpiStep {
public:
  struct Plan {
    std::vector<Parcel> out;
    Parcel own;
    int64_t resultBytes = 0; ///< A multiple of the slots' alignment beside it.
    int64_t slot = 0;
    int64_t bytes = 0; ///< Of the buffer.
  };
  static Plan plan(const StepDesc &step, size_t self);

  template <typename... Rest>
  CombineStep(Plan plan, Rest &&...rest)
      : MpiStep(std::forward<Rest>(rest)...), plan_(std::move(plan)),
        sources_(step_.parties.size()),
        combine_(findCombine(step_.type, *step_.reduce)) {}

private:
  Status begin() override;
  bool work() override;
  std::vector<size_t> senders() const override;

  Plan plan_;
  std::vector<const std::byte *> sources_;
  CombineFn combine_;
};

/// Every party combines a chunk, which all others get. With so few elements
/// that they are one chunk it is a vote: one party counts, and all others learn
/// from it what came out.
class AllReduceStep : public MpiStep {
public:
  static int64_t bufferBytes(const StepDesc &step, size_t self);

  /// A barrier is a vote on nothing, with addresses of its own.
  template <typename... Rest>
  AllReduceStep(bool isBarrier, Rest &&...rest)
      : MpiStep(std::forward<Rest>(rest)...), isBarrier_(isBarrier),
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
  std::byte *slot(size_t party) const {
    return buffer_ + static_cast<int64_t>(party) * sizeOf(self_) * width_;
  }

  bool isBarrier_;
  int64_t count_;
  std::vector<const std::byte *> sources_;
  CombineFn combine_;
  std::byte ownVote_{0}, allVotes_{0}; ///< Of a barrier.
};

} // namespace

/// Where the next message in a buffer begins.
static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static std::vector<size_t> othersThan(size_t self, size_t count) {
  std::vector<size_t> parties;
  // Each begins with the one behind it, so that not all send to the same.
  for (size_t i = 1; i < count; ++i) {
    parties.push_back((self + i) % count);
  }
  return parties;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// `makeCopy(piece)` is the copy between box and message.
template <typename MakeCopy>
static Parcel packPieces(size_t party, int64_t width,
                         const std::vector<Box> &pieces, int64_t &bufferBytes,
                         MakeCopy makeCopy) {
  Parcel parcel{party, 0, {}, {}, 0};
  for (const Box &piece : pieces) {
    parcel.offsets.push_back(parcel.bytes);
    parcel.copies.push_back(makeCopy(piece));
    parcel.bytes += piece.count() * width;
  }
  if (!parcel.isDirect()) {
    parcel.place = bufferBytes;
    bufferBytes += aligned(parcel.bytes);
  }
  return parcel;
}

MoveStep::Plan MoveStep::plan(const StepDesc &step, size_t self) {
  Plan plan;
  int64_t width = byteWidth(step.type);
  const StepParty &own = step.parties[self];
  for (const Box &piece : piecesOf(step, self, self)) {
    plan.own.emplace_back(width, piece, *own.source, *own.result);
  }
  for (size_t party : othersThan(self, step.parties.size())) {
    std::vector<Box> pieces = piecesOf(step, self, party);
    if (!pieces.empty()) {
      plan.out.push_back(
          packPieces(party, width, pieces, plan.bytes, [&](const Box &piece) {
            return BoxCopy(width, piece, *own.source, piece);
          }));
    }
    pieces = piecesOf(step, party, self);
    if (!pieces.empty()) {
      plan.in.push_back(
          packPieces(party, width, pieces, plan.bytes, [&](const Box &piece) {
            return BoxCopy(width, piece, piece, *own.result);
          }));
    }
  }
  return plan;
}

Status MoveStep::begin() {
  for (const Parcel &parcel : plan_.in) {
    std::byte *to = parcel.isDirect()
                        ? result_ + parcel.copies.front().resultOffset()
                        : buffer_ + parcel.place;
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
    std::byte *packed = buffer_ + parcel.place;
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
      parcel.copies[i].run(buffer_ + parcel.place + parcel.offsets[i], result_);
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

CombineStep::Plan CombineStep::plan(const StepDesc &step, size_t self) {
  Plan plan;
  int64_t width = byteWidth(step.type);
  const Box &source = *step.parties[self].source;
  auto pack = [&](size_t party) {
    const Box &part = *step.parties[party].result;
    return packPieces(party, width, {part}, plan.bytes, [&](const Box &piece) {
      return BoxCopy(width, piece, source, piece);
    });
  };
  plan.own = pack(self);
  plan.resultBytes = plan.own.bytes;
  for (size_t party : othersThan(self, step.parties.size())) {
    if (!step.parties[party].result->empty()) {
      plan.out.push_back(pack(party));
    }
  }
  plan.slot = plan.bytes;
  plan.bytes +=
      aligned(plan.resultBytes) * static_cast<int64_t>(step.parties.size());
  return plan;
}

std::vector<size_t> CombineStep::senders() const {
  return plan_.resultBytes == 0 ? std::vector<size_t>()
                                : othersThan(self_, step_.parties.size());
}

Status CombineStep::begin() {
  auto pack = [&](const Parcel &parcel) -> const std::byte * {
    const BoxCopy &copy = parcel.copies.front();
    if (parcel.isDirect()) {
      return source_ + copy.sourceOffset();
    }
    copy.run(source_, buffer_ + parcel.place);
    return buffer_ + parcel.place;
  };
  for (size_t party : senders()) {
    std::byte *slot = buffer_ + plan_.slot +
                      aligned(plan_.resultBytes) * static_cast<int64_t>(party);
    sources_[party] = slot;
    if (Status status = receive(party, slot, plan_.resultBytes);
        !status.isOk()) {
      return status;
    }
  }
  for (const Parcel &parcel : plan_.out) {
    send(parcel.party, pack(parcel), parcel.bytes);
  }
  sources_[self_] = plan_.resultBytes == 0 ? nullptr : pack(plan_.own);
  return {};
}

bool CombineStep::work() {
  if (plan_.resultBytes != 0) {
    combine_(sources_, 0, result_, 0, plan_.resultBytes / width_);
  }
  return false;
}

int64_t AllReduceStep::bufferBytes(const StepDesc &step, size_t self) {
  int64_t count = step.parties.front().source->count();
  size_t parties = step.parties.size();
  int64_t own =
      chunkBegin(count, parties, self + 1) - chunkBegin(count, parties, self);
  return static_cast<int64_t>(parties) * own * byteWidth(step.type);
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
  bool isVote = std::any_of(step_.parties.begin(), step_.parties.end(),
                            [&, party = size_t(0)](const StepParty &) mutable {
                              return sizeOf(party++) == count_;
                            });
  bool counts = sizeOf(self_) == count_;
  return isVote && (phase_ == 1 || (!counts && hasSent()));
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

/// What a barrier is done as.
static StepDesc asVote(StepDesc step) {
  step.type = DType::Bool;
  step.reduce = ReduceKind::Or;
  for (StepParty &party : step.parties) {
    party.source = party.result = Box::whole({1});
  }
  return step;
}

std::unique_ptr<MpiStep>
divisi::rt::makeMpiStep(MpiWorld &world, std::shared_ptr<Link> link,
                        const StepDesc &step, size_t self,
                        std::vector<int> processOf, MessageBuffers &buffers) {
  if (!step.reduce && takesAnything(step)) {
    MoveStep::Plan plan = MoveStep::plan(step, self);
    int64_t bytes = plan.bytes;
    return std::make_unique<MoveStep>(std::move(plan), world, std::move(link),
                                      step, self, std::move(processOf), buffers,
                                      bytes);
  }
  if (!step.reduce || isAllReduce(step)) {
    StepDesc votes = step.reduce ? step : asVote(step);
    int64_t bytes = AllReduceStep::bufferBytes(votes, self);
    return std::make_unique<AllReduceStep>(!step.reduce, world, std::move(link),
                                           votes, self, std::move(processOf),
                                           buffers, bytes);
  }
  CombineStep::Plan plan = CombineStep::plan(step, self);
  int64_t bytes = plan.bytes;
  return std::make_unique<CombineStep>(std::move(plan), world, std::move(link),
                                       step, self, std::move(processOf),
                                       buffers, bytes);
}
