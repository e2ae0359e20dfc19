//===- NcclClique.cpp - Who meets in emulated collectives -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclClique.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

using namespace divisi::emulator;
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
  if (call.isRegistered) {
    text += " in registered memory";
  }
  if (call.capture != 0) {
    text += ", recorded as number " + std::to_string(call.capture) + ",";
  }
  return text;
}

/// Whether the ends of a message, or all ranks, say the same. Whether a call
/// was recorded, and together with which, is theirs together, and so is whether
/// memory is registered.
static bool fit(const NcclCall &a, const NcclCall &b) {
  if (a.capture != b.capture || a.isRegistered != b.isRegistered) {
    return false;
  }
  if (isMessage(a.kind)) {
    return a.count * widthOf(a.type) == b.count * widthOf(b.type);
  }
  bool sameRoot = a.kind != NcclKind::Reduce || a.peer == b.peer;
  bool sameWay = a.kind == NcclKind::AllGather || a.reduction == b.reduction;
  return a.kind == b.kind && a.count == b.count && a.type == b.type &&
         sameRoot && sameWay;
}

/// What is wrong with the calls of two ranks that meet, if something is.
static std::optional<std::string> compare(int self, const NcclCall &call,
                                          int rank, const NcclCall &other) {
  if (fit(call, other)) {
    return std::nullopt;
  }
  return "rank " + std::to_string(self) + " calls " + describe(call) +
         " where rank " + std::to_string(rank) + " calls " + describe(other);
}

NcclClique::End NcclClique::endOf(int self, const NcclCall &call) {
  return call.kind == NcclKind::Send   ? End{self, call.peer, true}
         : call.kind == NcclKind::Recv ? End{call.peer, self, false}
                                       : End{self, -1, false};
}

std::optional<std::string>
NcclClique::meet(int self, const NcclCall &call,
                 std::shared_ptr<NcclMeeting> &meeting) {
  End end = endOf(self, call);
  std::tuple<int, int, uint64_t> key = {-1, -1, made_[end]++};
  if (isMessage(call.kind)) {
    std::tie(std::get<0>(key), std::get<1>(key), std::ignore) = end;
  }
  if (NcclMail::ofEnvironment()) {
    meeting = mailedMeeting(key);
    return std::nullopt;
  }
  std::shared_ptr<NcclMeeting> &slot = meetings_[key];
  if (!slot) {
    slot = std::make_shared<NcclMeeting>();
    slot->expected = isMessage(call.kind) ? 2 : size_t(size);
  }
  meeting = slot;
  std::optional<std::string> wrong;
  for (const auto &[rank, other] : meeting->calls) {
    if (!wrong) {
      wrong = compare(self, call, rank, other);
    }
  }
  meeting->calls[self] = call;
  if (meeting->calls.size() == meeting->expected) {
    meetings_.erase(key);
  }
  return wrong;
}

//===----------------------------------------------------------------------===//
// Mail
//===----------------------------------------------------------------------===//

/// As one rank has it.
std::shared_ptr<NcclMeeting>
NcclClique::mailedMeeting(const std::tuple<int, int, uint64_t> &key) const {
  auto [from, to, number] = key;
  auto meeting = std::make_shared<NcclMeeting>();
  meeting->mailed = name;
  if (from >= 0) {
    meeting->ranks = {from, to};
    meeting->mailed += "." + std::to_string(from) + "." + std::to_string(to);
  } else {
    meeting->ranks.resize(size_t(size));
    std::iota(meeting->ranks.begin(), meeting->ranks.end(), 0);
  }
  meeting->mailed += "." + std::to_string(number) + ".of";
  meeting->expected = meeting->ranks.size();
  return meeting;
}

std::string NcclClique::nameOf(Said what, int self) const {
  return name +
         (what == Said::IsThere            ? ".there."
          : what == Said::MakesCollectives ? ".first."
                                           : ".final.") +
         std::to_string(self);
}

void NcclClique::say(int self, Said what) {
  if (const NcclMail *mail = NcclMail::ofEnvironment();
      said_.insert({what, self}).second && mail) {
    mail->post(nameOf(what, self), {});
  }
}

bool NcclClique::haveAllSaid(Said what) const {
  const NcclMail *mail = NcclMail::ofEnvironment();
  for (int rank = 0; rank != size; ++rank) {
    if (!said_.contains({what, rank}) &&
        !(mail && mail->has(nameOf(what, rank)))) {
      return false;
    }
  }
  return true;
}

std::string NcclClique::nameOf(uint64_t split, int self) const {
  return name + ".split." + std::to_string(split) + "." + std::to_string(self);
}

void NcclClique::askFor(uint64_t split, int self, std::pair<int, int> wanted) {
  splits_[split].wanted[self] = wanted;
  if (const NcclMail *mail = NcclMail::ofEnvironment()) {
    mail->postValue(nameOf(split, self),
                    std::array{wanted.first, wanted.second});
  }
}

bool NcclClique::haveAllAskedFor(uint64_t split) {
  auto &wanted = splits_[split].wanted;
  if (const NcclMail *mail = NcclMail::ofEnvironment()) {
    for (int rank = 0; rank != size; ++rank) {
      if (auto told =
              mail->readValue<std::array<int, 2>>(nameOf(split, rank))) {
        wanted[rank] = {(*told)[0], (*told)[1]};
      }
    }
  }
  return wanted.size() == size_t(size);
}

std::shared_ptr<NcclClique> NcclClique::childOf(uint64_t split, int color) {
  std::shared_ptr<NcclClique> &child = splits_[split].made[color];
  if (!child) {
    auto ranks =
        std::ranges::count_if(splits_[split].wanted, [&](const auto &each) {
          return each.second.first == color;
        });
    child = std::make_shared<NcclClique>(name + "-" + std::to_string(split) +
                                             "-" + std::to_string(color),
                                         int(ranks));
  }
  return child;
}

int NcclClique::rankInChild(uint64_t split, int self) const {
  const auto &wanted = splits_.at(split).wanted;
  auto [color, key] = wanted.at(self);
  int rank = 0;
  for (const auto &[other, theirs] : wanted) {
    rank += theirs.first == color &&
            std::pair(theirs.second, other) < std::pair(key, self);
  }
  return rank;
}

/// Of a rank in a meeting: its call, and then its source.
static std::string mailOf(const NcclMeeting &meeting, int rank) {
  return meeting.mailed + "." + std::to_string(rank);
}

static void postCall(const NcclMail &mail, const std::string &name,
                     const NcclCall &call, size_t bytes) {
  std::vector<std::byte> text(sizeof(call) + bytes);
  std::memcpy(text.data(), &call, sizeof(call));
  if (bytes != 0) {
    std::memcpy(text.data() + sizeof(call), bytesAt(call.source, bytes), bytes);
  }
  mail.post(name, text);
}

/// Gives the rank what comes of the calls of all, which are there.
static void readCalls(const NcclMail &mail, int self, NcclMeeting &meeting) {
  std::map<int, NcclPart> parts;
  std::vector<std::vector<std::byte>> texts;
  for (int rank : meeting.ranks) {
    const std::vector<std::byte> &text =
        texts.emplace_back(*mail.read(mailOf(meeting, rank)));
    NcclCall call;
    std::memcpy(&call, text.data(), sizeof(call));
    parts[rank] = {call, text.data() + sizeof(call)};
  }
  for (const auto &[rank, part] : parts) {
    if (auto wrong = compare(self, parts.at(self).call, rank, part.call)) {
      return gpus().fail("NCCL: " + *wrong);
    }
  }
  evaluate(parts, self);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void NcclGroup::add(const NcclCall &call,
                    std::shared_ptr<NcclMeeting> meeting) {
  calls_.emplace_back(call, std::move(meeting));
}

/// What the call of a rank takes and gives, in bytes.
static size_t bytesTaken(const NcclCall &call, const NcclMeeting &meeting) {
  size_t parts = call.kind == NcclKind::Recv            ? 0
                 : call.kind == NcclKind::ReduceScatter ? meeting.expected
                                                        : 1;
  return call.count * widthOf(call.type) * parts;
}
static size_t bytesGiven(int self, const NcclCall &call,
                         const NcclMeeting &meeting) {
  bool gets = call.kind != NcclKind::Send &&
              (call.kind != NcclKind::Reduce || call.peer == self);
  size_t parts = call.kind == NcclKind::AllGather ? meeting.expected : 1;
  return gets ? call.count * widthOf(call.type) * parts : 0;
}

/// All have begun it, in this process.
static void run(NcclMeeting &meeting) {
  std::map<int, NcclPart> parts;
  for (const auto &[rank, call] : meeting.calls) {
    parts[rank] = {call, bytesAt(call.source, bytesTaken(call, meeting))};
  }
  evaluate(parts);
  meeting.isOver = true;
}

void NcclGroup::begin(const Clock &clock) {
  if (isAborted) {
    return;
  }
  for (auto &[call, meeting] : calls_) {
    if (const NcclMail *mail = NcclMail::ofEnvironment()) {
      postCall(*mail, mailOf(*meeting, self_), call,
               bytesTaken(call, *meeting));
      continue;
    }
    meeting->begun[self_] = clock;
    if (meeting->begun.size() == meeting->expected) {
      run(*meeting);
    }
  }
}

/// Whether all have come.
static bool isMet(const NcclMeeting &meeting) {
  const NcclMail *mail = NcclMail::ofEnvironment();
  return mail ? std::ranges::all_of(
                    meeting.ranks,
                    [&](int rank) { return mail->has(mailOf(meeting, rank)); })
              : meeting.isOver;
}

bool NcclGroup::isOver() const {
  return isAborted ||
         (!hangs && std::ranges::all_of(calls_, [](const auto &call) {
           return isMet(*call.second);
         }));
}

void NcclGroup::end(Touched &touched, Clock &learned) {
  hasEnded_ = true;
  before_.reset();
  for (const auto &[call, meeting] : calls_) {
    if (isAborted) {
      continue;
    }
    if (const NcclMail *mail = NcclMail::ofEnvironment()) {
      readCalls(*mail, self_, *meeting);
    }
    if (size_t bytes = bytesTaken(call, *meeting)) {
      touched.reads.push_back({call.source, call.source + bytes});
    }
    if (size_t bytes = bytesGiven(self_, call, *meeting)) {
      touched.writes.push_back({call.result, call.result + bytes});
      for (const auto &[rank, clock] : meeting->begun) {
        learned.join(clock);
      }
    }
  }
}
