//===- MessageWorld.cpp - Processes that send messages --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/messages/MessageWorld.h"
#include "runtime/comm/messages/MessageCommunicator.h"
#include "runtime/comm/messages/MessageStep.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

namespace {

/// What a note is about, and what follows its head.
enum class NoteKind : int32_t {
  Offers,  ///< Offers.
  Abort,   ///< An exit code and a text.
  Inquiry, ///< The share of which is asked.
  Answer   ///< The share, and the ranks for which it waits.
};

struct NoteHead {
  uint32_t link;
  NoteKind kind;
  int32_t from; ///< The process that has written it.
};

/// Reads a note from its beginning.
class NoteReader {
public:
  explicit NoteReader(const std::string &note) : rest_(note) {}
  bool isOver() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  /// Whether all that was read was there.
  bool isWhole() const { return isWhole_; }
  /// Zeros behind the end.
  template <typename T> T next() {
    T value{};
    size_t size = std::min(sizeof(value), rest_.size());
    isWhole_ &= size == sizeof(value);
    std::memcpy(&value, rest_.data(), size);
    rest_.remove_prefix(size);
    return value;
  }

private:
  std::string_view rest_;
  bool isWhole_ = true;
};

} // namespace

std::shared_ptr<Communicator>
MessageWorld::connect(std::vector<uint32_t> processOf,
                      std::chrono::milliseconds timeout,
                      std::chrono::microseconds spin, size_t threads) {
  auto lock = wire.lock();
  Link &link = linkOf(nextLink_++);
  // Others on this machine are taken to be alike.
  size_t busy = threads * static_cast<size_t>(wire.neighbours());
  size_t cores = std::thread::hardware_concurrency();
  bool hasCores = busy <= cores;
  link.hasFreeCore = busy < cores;
  return std::make_shared<MessageCommunicator>(
      *this, links_.at(link.number), std::move(processOf), timeout,
      hasCores ? spin : std::chrono::microseconds(0));
}

Link &MessageWorld::linkOf(uint32_t number) {
  std::shared_ptr<Link> &link = links_[number];
  if (!link) {
    link = std::make_shared<Link>(number);
  }
  return *link;
}

Expected<int> MessageWorld::takeTags(size_t count) {
  if (nextTag_ + static_cast<int64_t>(count) > wire.maxTag()) {
    return makeError(ExitCode::Unsupported, "messages have ", wire.maxTag(),
                     " tags, and the ranks of this process need more");
  }
  int64_t first = nextTag_;
  nextTag_ += static_cast<int64_t>(count);
  return static_cast<int>(first);
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

template <typename T> static void append(std::string &text, const T &value) {
  text.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

void MessageWorld::offer(const Link &link, int process, const Offer &offer) {
  if (process == wire.self()) {
    linkOf(link.number).offers.insert_or_assign(offer.key, offer);
  } else {
    offers_[{process, link.number}].push_back(offer);
  }
}

Status MessageWorld::sendOffers() {
  constexpr size_t most = (Wire::maxNote - sizeof(NoteHead)) / sizeof(Offer);
  for (auto &[to, offers] : offers_) {
    for (size_t begin = 0; begin < offers.size(); begin += most) {
      std::string note;
      append(note, NoteHead{to.second, NoteKind::Offers, wire.self()});
      size_t end = std::min(offers.size(), begin + most);
      for (size_t i = begin; i < end; ++i) {
        append(note, offers[i]);
      }
      Status status = wire.sendNote(to.first, std::move(note));
      if (!status.isOk()) {
        return status;
      }
    }
  }
  offers_.clear();
  return {};
}

Status MessageWorld::inquire(Link &link, int process, const ShareKey &share) {
  std::string note;
  append(note, NoteHead{link.number, NoteKind::Inquiry, wire.self()});
  append(note, share);
  return wire.sendNote(process, std::move(note));
}

/// The ranks for which `share` waits. Where it has not begun its rank may wait
/// in other steps, for others.
static std::set<uint32_t> awaitedBy(const Link &link, const ShareKey &share) {
  std::set<uint32_t> ranks;
  auto own = link.inFlight.find(share);
  for (const auto &[key, step] : link.inFlight) {
    bool counts = own != link.inFlight.end()
                      ? step == own->second
                      : key.rank == share.rank && step->isWaitedFor();
    if (counts) {
      std::vector<uint32_t> awaited = step->awaitedRanks();
      ranks.insert(awaited.begin(), awaited.end());
    }
  }
  return ranks;
}

/// Who waits for nobody gives no answer.
Status MessageWorld::answer(Link &link, int process, const ShareKey &share) {
  std::set<uint32_t> ranks = awaitedBy(link, share);
  if (ranks.empty() && !link.inFlight.contains(share)) {
    return {};
  }
  std::string note;
  append(note, NoteHead{link.number, NoteKind::Answer, wire.self()});
  append(note, share);
  for (uint32_t rank : ranks) {
    if (note.size() + sizeof(rank) <= Wire::maxNote) {
      append(note, rank);
    }
  }
  return wire.sendNote(process, std::move(note));
}

Status MessageWorld::read(const std::string &note) {
  NoteReader reader(note);
  auto head = reader.next<NoteHead>();
  Status broken(ExitCode::Device, "a note of another process is cut short");
  if (!reader.isWhole()) {
    return broken;
  }
  Link &link = linkOf(head.link);
  switch (head.kind) {
  case NoteKind::Offers:
    while (!reader.isOver()) {
      auto offer = reader.next<Offer>();
      if (reader.isWhole()) {
        link.offers.insert_or_assign(offer.key, offer);
      }
    }
    break;
  case NoteKind::Abort: {
    auto code = static_cast<ExitCode>(reader.next<int32_t>());
    if (reader.isWhole()) {
      link.aborts.set(Status(code, std::string(reader.rest())));
    }
    break;
  }
  case NoteKind::Inquiry: {
    auto share = reader.next<ShareKey>();
    return reader.isWhole() ? answer(link, head.from, share) : broken;
  }
  case NoteKind::Answer: {
    std::vector<uint32_t> &ranks = link.answers[reader.next<ShareKey>()];
    ranks.clear();
    while (!reader.isOver()) {
      ranks.push_back(reader.next<uint32_t>());
    }
    break;
  }
  }
  return reader.isWhole() ? Status() : broken;
}

Status MessageWorld::progress() {
  if (!offers_.empty()) {
    if (Status status = sendOffers(); !status.isOk()) {
      return status;
    }
  }
  while (true) {
    Expected<std::string> note = wire.takeNote();
    if (!note || note->empty()) {
      return note.status();
    }
    if (Status status = read(*note); !status.isOk()) {
      return status;
    }
  }
}

void MessageWorld::abort(Link &link, const Status &reason) {
  if (!link.aborts.set(reason)) {
    return;
  }
  std::string note;
  append(note, NoteHead{link.number, NoteKind::Abort, wire.self()});
  append(note, static_cast<int32_t>(reason.code()));
  note += reason.message().substr(0, Wire::maxNote - note.size());
  auto lock = wire.lock();
  for (int process = 0; process < wire.size(); ++process) {
    if (process != wire.self()) {
      // Who cannot be told notices at its own time-out.
      (void)wire.sendNote(process, note);
    }
  }
}

//===----------------------------------------------------------------------===//
// Driving steps
//===----------------------------------------------------------------------===//

void MessageWorld::noteLargeStart() {
  ++largeSteps_;
  if (!driver_.isJoinable()) {
    // Without a thread to spare, ranks drive their steps alone.
    auto driver = Thread::start("messages", [this] { runDriver(); });
    driver_ = driver ? std::move(*driver) : Thread();
  } else if (isAsleep_) {
    wakeUp_.notify_one();
  }
}

/// Looks now and then whether ranks drive their steps. Each look takes some of
/// a core from kernels.
void MessageWorld::runDriver() {
  constexpr std::chrono::microseconds moment(250);
  uint64_t seen = calls_;
  while (!isOver_) {
    std::this_thread::sleep_for(moment);
    uint64_t calls = calls_;
    if (std::exchange(seen, calls) != calls) {
      continue;
    }
    auto lock = wire.lock();
    driveAll(lock);
    isAsleep_ = true;
    wakeUp_.wait(lock, [&] { return isOver_ || largeSteps_ != 0; });
    isAsleep_ = false;
  }
}

/// What is in flight may change where a step lets go of the lock.
void MessageWorld::driveAll(std::unique_lock<std::mutex> &lock) {
  for (const auto &[number, link] : links_) {
    for (auto next = link->inFlight.begin(); next != link->inFlight.end();) {
      ShareKey key = next->first;
      if (Status status = next->second->driveUnder(lock); !status.isOk()) {
        lock.unlock();
        abort(*link, status);
        lock.lock();
      }
      next = link->inFlight.upper_bound(key);
    }
  }
}

void MessageWorld::stopDriver() {
  {
    auto lock = wire.lock();
    isOver_ = true;
    wakeUp_.notify_one();
  }
  if (driver_.isJoinable()) {
    driver_.join();
  }
}
