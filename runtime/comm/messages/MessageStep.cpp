//===- MessageStep.cpp - One rank's share of a step, by messages ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/messages/MessageStep.h"
#include "divisi/Support/Sha256.h"
#include "runtime/comm/StepShape.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

/// How much longer a rank that is bound by its vote looks for the result.
static constexpr std::chrono::milliseconds grace(500);

static void describe(std::ostream &os, const std::optional<Box> &box) {
  for (size_t d = 0; box && d < box->rank(); ++d) {
    os << ' ' << box->begin[d] << ':' << box->end[d];
  }
  os << (box ? '.' : '-');
}

/// Equal where parties describe the step alike.
static uint64_t hashOf(const StepDesc &step) {
  std::ostringstream text;
  text << step.location << '\n'
       << int(step.type) << ' ' << (step.reduce ? int(*step.reduce) : -1);
  for (const StepParty &party : step.parties) {
    text << '\n' << party.rank;
    describe(text, party.source);
    describe(text, party.result);
  }
  std::string hash = Sha256::of(text.str());
  uint64_t value = 0;
  std::memcpy(&value, hash.data(), sizeof(value));
  return value;
}

MessageStep::MessageStep(int64_t workspaceBytes, MessageWorld &world,
                         std::shared_ptr<Link> link, const StepDesc &step,
                         size_t self, std::vector<int> processOf)
    : step_(step), self_(self), width_(byteWidth(step.type)), world_(world),
      link_(std::move(link)), processOf_(std::move(processOf)),
      workspaceBytes_(workspaceBytes), hash_(hashOf(step)),
      tagsOf_(step.parties.size(), -1), requests_(world.wire.makeRequests()) {}

MessageStep::~MessageStep() {
  auto lock = world_.wire.lock();
  end(lock);
}

/// After this nothing of the run is left.
void MessageStep::end(std::unique_lock<std::mutex> &lock) {
  while (isWorking_) { // which ends, and needs nobody
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  leave();
}

void MessageStep::leave() {
  link_->inFlight.erase(keyOf(self_));
  if (std::exchange(isLarge_, false)) {
    world_.noteLargeEnd();
  }
  if (!requests_->areDone()) {
    world_.wire.drop(*requests_);
  }
  unsent_.clear();
}

ShareKey MessageStep::keyOf(size_t party) const {
  return {step_.entry, step_.tag, step_.parties.front().rank,
          step_.parties[party].rank};
}

Status MessageStep::announce() {
  std::vector<size_t> from = senders();
  if (from.empty()) {
    return {};
  }
  Expected<int> first = world_.takeTags(2 * step_.parties.size());
  if (!first) {
    return first.status();
  }
  firstTag_ = *first;
  std::set<int> processes;
  for (size_t party : from) {
    processes.insert(processOf_[party]);
  }
  for (int process : processes) {
    world_.offer(*link_, process, {keyOf(self_), firstTag_, hash_});
  }
  return {};
}

Status MessageStep::start(const void *source, void *result) {
  assert((memory_ || workspaceBytes_ == 0) && "no setWorkspace()");
  auto lock = world_.wire.lock();
  end(lock);
  if (Status status = world_.progress(); !status.isOk()) {
    return status;
  }
  if (link_->aborts.isAborted()) {
    return link_->aborts.reason();
  }
  failsAt_.reset();
  source_ = static_cast<const std::byte *>(source);
  result_ = static_cast<std::byte *>(result);
  phase_ = 0;
  isDone_ = isBroken_ = false;
  link_->inFlight[keyOf(self_)] = this;
  return beginPhase();
}

Status MessageStep::beginPhase() {
  Status status = begin();
  isBroken_ = !status.isOk();
  return status.isOk() ? sendUnsent() : status;
}

/// What is smaller is sent at once, and taken in one look.
void MessageStep::noteSize(size_t party, int64_t bytes) {
  constexpr int64_t large = int64_t(64) << 10;
  if (bytes >= large && world_.drives(*link_, processOf_[party]) &&
      !std::exchange(isLarge_, true)) {
    world_.noteLargeStart();
  }
}

void MessageStep::send(size_t party, const std::byte *data, int64_t bytes) {
  if (bytes != 0) {
    noteSize(party, bytes);
    unsent_.push_back({party, data, bytes});
  }
}

Status MessageStep::receive(size_t party, std::byte *data, int64_t bytes) {
  int tag = firstTag_ + 2 * static_cast<int>(party) + phase_;
  noteSize(party, bytes);
  return world_.wire.receive(processOf_[party], tag, data, bytes, party,
                             *requests_);
}

/// Sends what has an offer by now.
Status MessageStep::sendUnsent() {
  Status status;
  std::erase_if(unsent_, [&](const Message &message) {
    int &tags = tagsOf_[message.party];
    if (tags < 0) {
      auto offer = link_->offers.find(keyOf(message.party));
      if (offer == link_->offers.end() || !status.isOk()) {
        return false;
      }
      if (offer->second.step != hash_) {
        status = otherStepError(step_);
        return false;
      }
      tags = offer->second.firstTag;
    }
    if (status.isOk()) {
      int tag = tags + 2 * static_cast<int>(self_) + phase_;
      status = world_.wire.send(processOf_[message.party], tag, message.data,
                                message.bytes, message.party, *requests_);
    }
    return status.isOk();
  });
  return status;
}

Status MessageStep::goOn() {
  Status status = world_.progress();
  if (status.isOk() && !unsent_.empty()) {
    status = sendUnsent();
  }
  return status.isOk() ? world_.wire.test(*requests_) : status;
}

/// One phase after the other, while all of it has come. The lock is let go of
/// where there is work: others have steps of their own. Nothing is sent any
/// more for a step that fails: it would then be bound.
Status MessageStep::driveUnder(std::unique_lock<std::mutex> &lock) {
  if (isWorking_ || isDone_ || mustFail()) {
    return {};
  }
  Status status = goOn();
  while (status.isOk() && unsent_.empty() && requests_->areDone() &&
         !mustFail()) {
    isWorking_ = true;
    lock.unlock();
    bool goesOn = work();
    lock.lock();
    isWorking_ = false;
    if (!goesOn) {
      isDone_ = true;
      leave();
      break;
    }
    ++phase_;
    status = beginPhase();
    if (status.isOk()) {
      status = goOn();
    }
  }
  return status;
}

bool MessageStep::drive() {
  auto lock = world_.wire.lock();
  if (Status status = driveUnder(lock); !status.isOk()) {
    lock.unlock();
    world_.abort(*link_, status);
    lock.lock();
  }
  return isDone_ || (!isWorking_ && mustFail());
}

/// Under the lock.
bool MessageStep::mustFail() {
  if (!link_->aborts.isAborted()) {
    return isBroken_; // who has met that aborts
  }
  if (!isBound() || isBroken_) {
    return true;
  }
  auto now = std::chrono::steady_clock::now();
  failsAt_ = failsAt_.value_or(now + grace);
  return now > *failsAt_;
}

Expected<bool> MessageStep::poll() {
  world_.noteCall();
  if (!drive()) {
    return false;
  }
  return isDone_ ? Expected<bool>(true) : link_->aborts.reason();
}

//===----------------------------------------------------------------------===//
// Who does not come
//===----------------------------------------------------------------------===//

std::vector<size_t> MessageStep::awaitedParties() const {
  std::vector<size_t> parties = requests_->parties();
  for (const Message &message : unsent_) {
    parties.push_back(message.party);
  }
  std::sort(parties.begin(), parties.end());
  parties.erase(std::unique(parties.begin(), parties.end()), parties.end());
  return parties;
}

std::vector<uint32_t> MessageStep::awaitedRanks() const {
  std::vector<uint32_t> ranks;
  for (size_t party : awaitedParties()) {
    ranks.push_back(step_.parties[party].rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Status MessageStep::inquire() {
  auto lock = world_.wire.lock();
  Status status;
  for (size_t party : awaitedParties()) {
    link_->answers.erase(keyOf(party));
    if (status.isOk()) {
      status = world_.inquire(*link_, processOf_[party], keyOf(party));
    }
  }
  return status;
}

bool MessageStep::isAnswered() {
  auto lock = world_.wire.lock();
  std::vector<size_t> parties = awaitedParties();
  return std::all_of(parties.begin(), parties.end(), [&](size_t party) {
    return link_->answers.contains(keyOf(party));
  });
}

/// Who waits for another is not missing, unless it is for this one alone.
void MessageStep::giveUp(std::chrono::milliseconds timeout) {
  std::set<uint32_t> missing;
  {
    auto lock = world_.wire.lock();
    for (size_t party : awaitedParties()) {
      auto answer = link_->answers.find(keyOf(party));
      if (answer == link_->answers.end() || answer->second.empty()) {
        missing.insert(step_.parties[party].rank);
      } else {
        missing.insert(answer->second.begin(), answer->second.end());
      }
    }
    missing.erase(step_.parties[self_].rank);
    if (missing.empty()) {
      std::vector<uint32_t> awaited = awaitedRanks();
      missing.insert(awaited.begin(), awaited.end());
    }
  }
  world_.abort(*link_, timeoutError(step_, self_,
                                    {missing.begin(), missing.end()}, timeout));
}
