//===- Messages.cpp - What a step sends as messages -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Messages.h"
#include "runtime/comm/StepShape.h"

using namespace divisi;
using namespace divisi::rt;

std::vector<size_t> divisi::rt::othersThan(size_t self, size_t count) {
  std::vector<size_t> parties;
  for (size_t i = 1; i < count; ++i) {
    parties.push_back((self + i) % count);
  }
  return parties;
}

/// `makeCopy(piece)` is the copy between box and message.
template <typename MakeCopy>
static Parcel packPieces(size_t party, int64_t width,
                         const std::vector<Box> &pieces, int64_t &memory,
                         MakeCopy makeCopy) {
  Parcel parcel{party, 0, {}, {}, 0};
  for (const Box &piece : pieces) {
    parcel.offsets.push_back(parcel.bytes);
    parcel.copies.push_back(makeCopy(piece));
    parcel.bytes += piece.count() * width;
  }
  if (!parcel.isDirect()) {
    parcel.place = memory;
    memory += alignedMessage(parcel.bytes);
  }
  return parcel;
}

MoveMessages divisi::rt::planMoveMessages(const StepDesc &step, size_t self) {
  Senders senders = sendersOf(step);
  return planMoveMessages(step, self, senders);
}

MoveMessages divisi::rt::planMoveMessages(const StepDesc &step, size_t self,
                                          Senders &senders) {
  MoveMessages plan;
  int64_t width = byteWidth(step.type);
  const StepParty &own = step.parties[self];
  for (const Box &piece : senders.pieces(self, self)) {
    plan.own.emplace_back(width, piece, *own.source, *own.result);
  }
  for (size_t party : othersThan(self, step.parties.size())) {
    std::vector<Box> pieces = senders.pieces(self, party);
    if (!pieces.empty()) {
      plan.out.push_back(
          packPieces(party, width, pieces, plan.bytes, [&](const Box &piece) {
            return BoxCopy(width, piece, *own.source, piece);
          }));
    }
    pieces = senders.pieces(party, self);
    if (!pieces.empty()) {
      plan.in.push_back(
          packPieces(party, width, pieces, plan.bytes, [&](const Box &piece) {
            return BoxCopy(width, piece, piece, *own.result);
          }));
    }
  }
  return plan;
}

CombineMessages divisi::rt::planCombineMessages(const StepDesc &step,
                                                size_t self) {
  CombineMessages plan;
  int64_t width = byteWidth(step.type);
  const Box &source = *step.parties[self].source;
  auto pack = [&](size_t party) {
    const Box &part = *step.parties[party].result;
    return packPieces(party, width, {part}, plan.bytes, [&](const Box &piece) {
      return BoxCopy(width, piece, source, piece);
    });
  };
  plan.own = pack(self);
  for (size_t party : othersThan(self, step.parties.size())) {
    if (!step.parties[party].result->empty()) {
      plan.out.push_back(pack(party));
    }
  }
  plan.slot = plan.bytes;
  plan.slotBytes = alignedMessage(plan.own.bytes);
  // The first one's comes in the result, unless that may be the source.
  bool hasSlot = step.parties[self].result == step.parties[self].source;
  size_t others = step.parties.size() - 1;
  if (others != 0) {
    plan.bytes +=
        plan.slotBytes * static_cast<int64_t>(hasSlot ? others : others - 1);
  }
  return plan;
}

StepDesc divisi::rt::asVote(StepDesc step) {
  step.type = DType::Bool;
  step.reduce = ReduceKind::Or;
  for (StepParty &party : step.parties) {
    party.source = party.result = Box::whole({1});
  }
  return step;
}

static int64_t allReduceBytes(const StepDesc &step, size_t self) {
  int64_t count = step.parties.front().source->count();
  size_t parties = step.parties.size();
  int64_t own =
      chunkBegin(count, parties, self + 1) - chunkBegin(count, parties, self);
  return static_cast<int64_t>(parties - 1) * own * byteWidth(step.type);
}

/// `bytesOf(self)` of each party.
template <typename BytesOf>
static std::vector<int64_t> ofEach(const StepDesc &step, BytesOf bytesOf) {
  std::vector<int64_t> bytes;
  for (size_t self = 0; self < step.parties.size(); ++self) {
    bytes.push_back(bytesOf(self));
  }
  return bytes;
}

int64_t divisi::rt::messageBytes(const StepDesc &step, size_t self) {
  if (step.reduce) {
    return isAllReduce(step) ? allReduceBytes(step, self)
                             : planCombineMessages(step, self).bytes;
  }
  return takesAnything(step) ? planMoveMessages(step, self).bytes
                             : allReduceBytes(asVote(step), self);
}

std::vector<int64_t> divisi::rt::messageBytes(const StepDesc &step) {
  if (step.reduce && !isAllReduce(step)) {
    return ofEach(step, [&](size_t self) {
      return planCombineMessages(step, self).bytes;
    });
  }
  if (!step.reduce && takesAnything(step)) {
    Senders senders = sendersOf(step);
    return ofEach(step, [&](size_t self) {
      return planMoveMessages(step, self, senders).bytes;
    });
  }
  StepDesc combined = step.reduce ? step : asVote(step);
  return ofEach(step,
                [&](size_t self) { return allReduceBytes(combined, self); });
}
