//===- NcclClique.cpp - Who meets in emulated collectives -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclClique.h"

#include "divisi/runtime/Reduce.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace divisi::emulator;
namespace rt = divisi::rt;

namespace {

struct TypeName {
  ncclDataType_t type;
  rt::DType as;
};
struct ReductionName {
  ncclRedOp_t reduction;
  rt::ReduceKind as;
};

} // namespace

static std::optional<rt::DType> typeOf(ncclDataType_t type) {
  static constexpr TypeName names[] = {
      {ncclInt8, rt::DType::I8},     {ncclUint8, rt::DType::U8},
      {ncclInt32, rt::DType::I32},   {ncclUint32, rt::DType::U32},
      {ncclInt64, rt::DType::I64},   {ncclUint64, rt::DType::U64},
      {ncclFloat16, rt::DType::F16}, {ncclFloat32, rt::DType::F32},
      {ncclFloat64, rt::DType::F64}, {ncclBfloat16, rt::DType::BF16},
  };
  auto found = std::ranges::find(names, type, &TypeName::type);
  return found == std::end(names) ? std::nullopt : std::optional(found->as);
}

static std::optional<rt::ReduceKind> kindOf(ncclRedOp_t reduction) {
  static constexpr ReductionName names[] = {{ncclSum, rt::ReduceKind::Sum},
                                            {ncclProd, rt::ReduceKind::Prod},
                                            {ncclMax, rt::ReduceKind::Max},
                                            {ncclMin, rt::ReduceKind::Min}};
  auto found = std::ranges::find(names, reduction, &ReductionName::reduction);
  return found == std::end(names) ? std::nullopt : std::optional(found->as);
}

size_t divisi::emulator::widthOf(ncclDataType_t type) {
  auto as = typeOf(type);
  return as ? size_t(rt::byteWidth(*as)) : 0;
}

/// Not the largest of floats, of which NCCL drops NaN.
bool divisi::emulator::combines(ncclDataType_t type, ncclRedOp_t reduction) {
  auto as = typeOf(type);
  auto kind = kindOf(reduction);
  bool isBound = reduction == ncclMax || reduction == ncclMin;
  return as && kind && !(isBound && rt::isFloatType(*as));
}

const char *divisi::emulator::nameOf(NcclKind kind) {
  static constexpr const char *names[] = {"ncclAllReduce", "ncclReduceScatter",
                                          "ncclReduce",    "ncclAllGather",
                                          "ncclSend",      "ncclRecv"};
  return names[size_t(kind)];
}

static bool isMessage(NcclKind kind) {
  return kind == NcclKind::Send || kind == NcclKind::Recv;
}

static std::string describe(const NcclCall &call) {
  std::string text = std::string(nameOf(call.kind)) + " of " +
                     std::to_string(call.count) + " elements of type " +
                     std::to_string(int(call.type));
  if (!isMessage(call.kind) && call.kind != NcclKind::AllGather) {
    text += " by reduction " + std::to_string(int(call.reduction));
  }
  if (call.kind == NcclKind::Reduce) {
    text += " to rank " + std::to_string(call.peer);
  }
  return text;
}

/// Whether the ends of a message, or all ranks, say the same.
static bool fit(const NcclCall &a, const NcclCall &b) {
  if (isMessage(a.kind)) {
    return a.count * widthOf(a.type) == b.count * widthOf(b.type);
  }
  bool sameRoot = a.kind != NcclKind::Reduce || a.peer == b.peer;
  bool sameWay = a.kind == NcclKind::AllGather || a.reduction == b.reduction;
  return a.kind == b.kind && a.count == b.count && a.type == b.type &&
         sameRoot && sameWay;
}

std::optional<std::string>
NcclClique::meet(int self, const NcclCall &call,
                 std::shared_ptr<NcclMeeting> &meeting) {
  std::tuple<int, int, uint64_t> key;
  bool sends = call.kind == NcclKind::Send;
  if (isMessage(call.kind)) {
    int from = sends ? self : call.peer, to = sends ? call.peer : self;
    key = {from, to, messages_[{from, to, sends}]++};
  } else {
    key = {-1, -1, collectives_[self]++};
  }
  std::shared_ptr<NcclMeeting> &slot = meetings_[key];
  if (!slot) {
    slot = std::make_shared<NcclMeeting>();
    slot->expected = isMessage(call.kind) ? 2 : size_t(size);
  }
  meeting = slot;
  std::optional<std::string> wrong;
  for (const auto &[rank, other] : meeting->calls) {
    if (!fit(call, other) && !wrong) {
      wrong = "rank " + std::to_string(self) + " calls " + describe(call) +
              " where rank " + std::to_string(rank) + " calls " +
              describe(other);
    }
  }
  meeting->calls[self] = call;
  if (meeting->calls.size() == meeting->expected) {
    meetings_.erase(key);
  }
  return wrong;
}

//===----------------------------------------------------------------------===//
// What a call does
//===----------------------------------------------------------------------===//

static std::byte *bytesAt(uint64_t address, size_t bytes) {
  return bytes == 0 ? nullptr : gpus().find(address, bytes);
}

/// Combines what all have from element `begin` of their sources on. In which
/// order depends on the place, as it does for rings.
static void combineAll(const NcclMeeting &meeting, size_t begin, size_t count,
                       std::byte *result) {
  const NcclCall &first = meeting.calls.begin()->second;
  rt::CombineFn combine =
      rt::findCombine(*typeOf(first.type), *kindOf(first.reduction));
  size_t width = widthOf(first.type);
  constexpr size_t chunk = 32;
  std::vector<const std::byte *> sources;
  for (const auto &[rank, call] : meeting.calls) {
    sources.push_back(bytesAt(call.source + begin * width, count * width));
  }
  std::vector<std::byte> sum(chunk * width);
  for (size_t at = 0; at < count; at += chunk) {
    size_t size = std::min(chunk, count - at);
    size_t start = (begin + at) / chunk % sources.size();
    std::memcpy(sum.data(), sources[start] + at * width, size * width);
    for (size_t i = 1; i < sources.size(); ++i) {
      std::array<const std::byte *, 2> both = {
          sum.data(), sources[(start + i) % sources.size()] + at * width};
      combine(both, 0, sum.data(), 0, int64_t(size));
    }
    std::memcpy(result + at * width, sum.data(), size * width);
  }
}

/// All sources are read before a result is written, which may be one of them.
static void runCollective(const NcclMeeting &meeting) {
  const NcclCall &first = meeting.calls.begin()->second;
  size_t width = widthOf(first.type), count = first.count;
  size_t ranks = meeting.calls.size();
  auto write = [&](const NcclCall &call, const std::vector<std::byte> &bytes) {
    if (!bytes.empty()) {
      std::memcpy(bytesAt(call.result, bytes.size()), bytes.data(),
                  bytes.size());
    }
  };
  std::vector<std::byte> all;
  if (first.kind == NcclKind::AllGather) {
    for (const auto &[rank, call] : meeting.calls) {
      const std::byte *from = bytesAt(call.source, count * width);
      all.insert(all.end(), from, from + count * width);
    }
  } else {
    bool scatters = first.kind == NcclKind::ReduceScatter;
    all.resize(count * width * (scatters ? ranks : 1));
    for (size_t part = 0; part < (scatters ? ranks : 1); ++part) {
      combineAll(meeting, part * count, count,
                 all.data() + part * count * width);
    }
  }
  for (const auto &[rank, call] : meeting.calls) {
    if (call.kind == NcclKind::ReduceScatter) {
      auto own = all.begin() + ptrdiff_t(size_t(rank) * count * width);
      write(call, {own, own + ptrdiff_t(count * width)});
    } else if (call.kind != NcclKind::Reduce || call.peer == rank) {
      write(call, all);
    }
  }
}

static void runMessage(const NcclMeeting &meeting) {
  const NcclCall *ends[2] = {};
  for (const auto &[rank, call] : meeting.calls) {
    ends[call.kind == NcclKind::Recv] = &call;
  }
  size_t bytes = ends[0]->count * widthOf(ends[0]->type);
  if (bytes != 0) {
    std::memcpy(bytesAt(ends[1]->result, bytes),
                bytesAt(ends[0]->source, bytes), bytes);
  }
}

void NcclGroup::add(const NcclCall &call,
                    std::shared_ptr<NcclMeeting> meeting) {
  calls_.emplace_back(call, std::move(meeting));
}

void NcclGroup::begin(const Clock &clock) {
  if (isAborted) {
    return;
  }
  for (auto &[call, meeting] : calls_) {
    meeting->begun[self_] = clock;
    if (meeting->begun.size() == meeting->expected) {
      isMessage(call.kind) ? runMessage(*meeting) : runCollective(*meeting);
      meeting->isOver = true;
    }
  }
}

bool NcclGroup::isOver() const {
  return isAborted ||
         (!hangs && std::ranges::all_of(calls_, [](const auto &call) {
           return call.second->isOver;
         }));
}

/// Ranges of a call's source and result, as this rank has them.
static void noteTouched(int self, const NcclCall &call,
                        const NcclMeeting &meeting, Touched &touched) {
  size_t bytes = call.count * widthOf(call.type);
  size_t ranks = meeting.expected;
  bool scatters = call.kind == NcclKind::ReduceScatter;
  bool gathers = call.kind == NcclKind::AllGather;
  auto note = [](std::vector<ByteRange> &ranges, uint64_t at, size_t size) {
    if (size != 0) {
      ranges.push_back({at, at + size});
    }
  };
  if (call.kind != NcclKind::Recv) {
    note(touched.reads, call.source, bytes * (scatters ? ranks : 1));
  }
  if (call.kind != NcclKind::Send &&
      (call.kind != NcclKind::Reduce || call.peer == self)) {
    note(touched.writes, call.result, bytes * (gathers ? ranks : 1));
  }
}

void NcclGroup::end(Touched &touched, Clock &learned) {
  hasEnded_ = true;
  before_.reset();
  for (const auto &[call, meeting] : calls_) {
    if (isAborted) {
      continue;
    }
    noteTouched(self_, call, *meeting, touched);
    bool learns = call.kind != NcclKind::Send &&
                  (call.kind != NcclKind::Reduce || call.peer == self_);
    for (const auto &[rank, clock] : meeting->begun) {
      if (learns) {
        learned.join(clock);
      }
    }
  }
}
