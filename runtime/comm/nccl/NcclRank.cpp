//===- NcclRank.cpp - The communicators of one rank -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclRank.h"
#include "runtime/backends/cuda/FunctionTable.h"

#include <algorithm>
#include <thread>
#include <utility>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::nccl;

namespace {

/// Cliques without a common rank, and all ranks that are in one.
struct Round {
  std::vector<Group> groups;
  std::set<uint32_t> ranks;
};

} // namespace

/// Steps of this room have entries behind all that artifacts have.
static constexpr uint32_t firstOwnEntry = uint32_t(1) << 31;

void NcclRank::use(std::shared_ptr<const NcclLibrary> library,
                   std::shared_ptr<const cuda::Context> context) {
  library_ = std::move(library);
  context_ = std::move(context);
  if (!buffers_) {
    buffers_ = std::make_shared<NcclBuffers>(library_, context_);
  }
}

Clique &NcclRank::want(uint32_t entry, const Group &ranks) {
  wanted_[entry].insert(ranks);
  return cliques_.try_emplace(ranks, Clique{ranks}).first->second;
}

void NcclRank::end() {
  if (!context_) {
    return;
  }
  for (const auto &noted : std::exchange(graphs_, {})) {
    if (auto graph = noted.lock()) {
      graph->reset();
    }
  }
  context_->driver(); // the thread has the context
  std::set<ncclComm_t> ended = {nullptr};
  auto endOne = [&](ncclComm_t communicator) {
    if (ended.insert(communicator).second) {
      buffers_->remove(communicator);
      library_->commAbort(communicator);
    }
  };
  for (auto &[ranks, clique] : cliques_) {
    endOne(std::exchange(clique.communicator, nullptr));
  }
  for (const auto &[ranks, whole] : wholes_) {
    endOne(whole);
  }
  wholes_.clear();
  connected_.clear();
  asked_.clear();
}

void NcclRank::noteGraph(std::weak_ptr<std::unique_ptr<DeviceGraph>> graph) {
  std::erase_if(graphs_, [](const auto &noted) { return noted.expired(); });
  graphs_.push_back(std::move(graph));
}

Status NcclRank::await(ncclComm_t communicator, const std::string &what) const {
  return waitFor(what, [&]() -> Expected<bool> {
    ncclResult_t state = ncclSuccess;
    Status status = library_->check(
        library_->commGetAsyncError(communicator, &state), communicator, what);
    if (status.isOk()) {
      status = library_->check(state, communicator, what);
    }
    return status.isOk() ? Expected(state != ncclInProgress) : status;
  });
}

Status NcclRank::waitFor(const std::string &what,
                         const std::function<Expected<bool>()> &isDone) const {
  auto deadline = std::chrono::steady_clock::now() + timeout_;
  while (true) {
    Expected<bool> isOver = isDone();
    if (!isOver || *isOver) {
      return isOver.status();
    }
    if (aborts_.isAborted()) {
      return aborts_.reason();
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return makeError(ExitCode::Device, "rank ", number_, " waited ",
                       timeout_.count(), " ms for NCCL to ", what,
                       "; raise the timeout if others are busy");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

//===----------------------------------------------------------------------===//
// Who meets whom
//===----------------------------------------------------------------------===//

/// What each of the ranks has, one behind the other. All have as much.
Expected<std::vector<int64_t>>
NcclRank::gather(const StepDesc &names, const std::vector<int64_t> &own,
                 std::span<const uint32_t> ranks) {
  StepDesc step = names;
  step.type = DType::I64;
  auto size = static_cast<int64_t>(own.size());
  auto count = static_cast<int64_t>(ranks.size());
  size_t self = 0;
  for (int64_t i = 0; i < count; ++i) {
    step.parties.push_back({ranks[i], Box{{i * size}, {(i + 1) * size}},
                            Box::whole({count * size})});
    self = ranks[i] == number_ ? i : self;
  }
  std::vector<int64_t> all(count * size);
  auto share = LoneStep::prepare(inner_, step, self);
  Status status =
      share ? runStep(inner_, **share, own.data(), all.data()) : share.status();
  return status.isOk() ? Expected(std::move(all)) : status;
}

/// All cliques that ranks of the entry still have to connect, in one order.
Expected<Meeting> NcclRank::meet(uint32_t entry,
                                 std::span<const uint32_t> ranks,
                                 bool mayRecord) {
  std::vector<int64_t> own; // their sizes and ranks
  for (const Group &group : wanted_[entry]) {
    if (!cliques_.at(group).communicator) {
      own.push_back(static_cast<int64_t>(group.size()));
      own.insert(own.end(), group.begin(), group.end());
    }
  }
  StepDesc names;
  names.entry = firstOwnEntry + entry;
  names.location = "the rendezvous of GPUs";
  auto facts =
      gather(names, {static_cast<int64_t>(own.size()), mayRecord}, ranks);
  if (!facts) {
    return facts.status();
  }
  Meeting meeting;
  int64_t most = 0;
  for (size_t at = 0; at < facts->size(); at += 2) {
    most = std::max(most, (*facts)[at]);
    meeting.mayRecord &= (*facts)[at + 1] != 0;
  }
  own.resize(most); // 0 ends the list
  own.push_back(0);
  names.tag = 1;
  auto lists = gather(names, own, ranks);
  if (!lists) {
    return lists.status();
  }
  std::set<Group> groups;
  for (size_t at = 0; at < lists->size(); at += own.size()) {
    for (size_t i = at; (*lists)[i] != 0; i += (*lists)[i] + 1) {
      auto first = lists->begin() + static_cast<ptrdiff_t>(i) + 1;
      groups.emplace(first, first + (*lists)[i]);
    }
  }
  meeting.groups.assign(groups.begin(), groups.end());
  return meeting;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

/// What the first of the ranks has got from NCCL.
Expected<ncclUniqueId> NcclRank::exchangeNumber(uint32_t entry,
                                                const Group &ranks) {
  ncclUniqueId own = {}, given = {};
  bool isFirst = ranks.front() == number_;
  Status status;
  if (isFirst) {
    status = library_->check(library_->getUniqueId(&own), nullptr,
                             "make an id for a communicator");
  }
  if (!status.isOk()) {
    return status;
  }
  StepDesc step;
  step.entry = firstOwnEntry + entry;
  step.tag = 2;
  step.location = "the rendezvous of GPUs";
  step.type = DType::U8;
  Box box = Box::whole({int64_t(sizeof(own))});
  size_t self = 0;
  for (uint32_t rank : ranks) {
    self = rank == number_ ? step.parties.size() : self;
    step.parties.push_back({rank, {}, box});
  }
  step.parties.front().source = box;
  auto share = LoneStep::prepare(inner_, step, self);
  status = share ? runStep(inner_, **share, isFirst ? &own : nullptr, &given)
                 : share.status();
  return status.isOk() ? Expected(given) : status;
}

/// One of all these ranks, of which this is one.
Expected<ncclComm_t> NcclRank::connectAll(uint32_t entry, const Group &ranks) {
  if (auto known = wholes_.find(ranks); known != wholes_.end()) {
    return known->second;
  }
  auto given = exchangeNumber(entry, ranks);
  if (!given) {
    return given.status();
  }
  context_->driver(); // the thread has the context
  const std::string what = "connect " + std::to_string(ranks.size()) + " GPUs";
  ncclConfig_t config = makeConfig();
  ncclComm_t &made = wholes_[ranks];
  auto self = std::ranges::find(ranks, number_) - ranks.begin();
  Status status =
      library_->check(library_->commInitRankConfig(&made, int(ranks.size()),
                                                   *given, int(self), &config),
                      nullptr, what);
  if (status.isOk()) {
    status = await(made, what);
  }
  return status.isOk() ? Expected(made) : status;
}

/// A part of what it was given, to which the same is done as to others, but
/// that it may block.
Expected<ncclComm_t> NcclRank::splitGiven(int color, int key) {
  auto *given = static_cast<ncclComm_t>(given_.communicator);
  if (split_ && !split_->result()) {
    return makeError(ExitCode::Device, "the communicator that rank ", number_,
                     " was given is still being split; abort it");
  }
  const std::string what = "split the communicator that it was given";
  auto started = BlockingSplit::start(library_, context_, given, color, key);
  if (!started) {
    return started.status();
  }
  split_ = std::move(*started);
  Status status = waitFor(
      what, [&]() -> Expected<bool> { return split_->result().has_value(); });
  if (status.isOk()) {
    status = library_->check(*split_->result(), given, what);
  }
  if (status.isOk()) {
    status = await(given, what);
  }
  if (!status.isOk()) {
    split_->abandon();
    return status;
  }
  return split_->made();
}

/// Those of cliques without a common rank; all ranks of `whole` call it.
Status NcclRank::splitRound(ncclComm_t whole, std::span<const Group> round) {
  int color = NCCL_SPLIT_NOCOLOR, key = 0;
  ncclComm_t *made = &none_;
  for (size_t i = 0; i < round.size(); ++i) {
    auto self = std::ranges::find(round[i], number_);
    if (self != round[i].end()) {
      color = int(i);
      key = int(self - round[i].begin());
      made = &cliques_.at(round[i]).communicator;
    }
  }
  if (whole == given_.communicator) {
    auto part = splitGiven(color, key);
    *made = part ? *part : nullptr;
    return part && *part ? await(*part, "connect a part of a communicator")
                         : part.status();
  }
  context_->driver(); // the thread has the context
  const std::string what = "split a communicator";
  ncclConfig_t config = makeConfig();
  Status status = library_->check(
      library_->commSplit(whole, color, key, made, &config), whole, what);
  if (status.isOk()) {
    status = await(whole, what);
  }
  return status.isOk() && *made ? await(*made, what) : status;
}

/// In as few rounds as come about when each takes what it can.
Status NcclRank::split(ncclComm_t whole, const std::vector<Group> &groups) {
  std::vector<Round> rounds;
  for (const Group &group : groups) {
    auto round = std::ranges::find_if(rounds, [&](const Round &known) {
      return std::ranges::none_of(
          group, [&](uint32_t rank) { return known.ranks.contains(rank); });
    });
    Round &taken = round == rounds.end() ? rounds.emplace_back() : *round;
    taken.groups.push_back(group);
    taken.ranks.insert(group.begin(), group.end());
  }
  Status status;
  for (size_t i = 0; i < rounds.size() && status.isOk(); ++i) {
    status = splitRound(whole, rounds[i].groups);
  }
  return status;
}

Status NcclRank::connectGroups(uint32_t entry, std::span<const uint32_t> ranks,
                               std::vector<Group> groups) {
  // What it was given stays whose it is: all of its own are split from it, by
  // all of its ranks.
  if (given_.communicator && ranks.size() == numRanks_) {
    return split(static_cast<ncclComm_t>(given_.communicator), groups);
  }
  std::set<uint32_t> members;
  for (const Group &group : groups) {
    members.insert(group.begin(), group.end());
  }
  if (!members.contains(number_)) {
    return {};
  }
  Group all(members.begin(), members.end());
  auto whole = connectAll(entry, all);
  if (!whole) {
    return whole.status();
  }
  if (std::erase(groups, all) != 0) {
    cliques_.at(all).communicator = *whole;
  }
  return split(*whole, groups);
}

/// With all communicators of cliques that have not been asked: of all ranks, or
/// of none. All of `ranks` call it.
Status NcclRank::registerMemory(uint32_t entry,
                                std::span<const uint32_t> ranks) {
  std::vector<ncclComm_t> added;
  Status refused;
  if (!library_->registers()) {
    refused = makeError(ExitCode::Device, "NCCL ",
                        cuda::nameOfLibraryVersion(library_->version),
                        " registers none");
  }
  for (const auto &[group, clique] : cliques_) {
    if (refused.isOk() && clique.communicator &&
        asked_.insert(clique.communicator).second) {
      added.push_back(clique.communicator);
      refused = buffers_->add(clique.communicator);
    }
  }
  StepDesc names;
  names.entry = firstOwnEntry + entry;
  names.tag = 3;
  names.location = "the rendezvous of GPUs";
  auto all = gather(names, {refused.isOk()}, ranks);
  if (!all) {
    return all.status();
  }
  if (std::ranges::find(*all, 0) == all->end()) {
    registration_ = "NCCL has registered " + std::to_string(buffers_->count()) +
                    " pieces of its memory";
    return {};
  }
  std::ranges::for_each(added, [&](ncclComm_t one) { buffers_->remove(one); });
  registration_ = "NCCL has registered none of its memory: " +
                  (refused.isOk() ? "that of another device could not be"
                                  : refused.message());
  return {};
}

Expected<uint64_t> NcclRank::connect(uint32_t entry,
                                     std::span<const uint32_t> ranks,
                                     uint64_t generation, bool mayRecord) {
  if (generation_ != generation) {
    end();
    generation_ = generation;
  }
  auto known = connected_.find(entry);
  if (known == connected_.end()) {
    auto meeting = meet(entry, ranks, mayRecord);
    Status status =
        meeting ? connectGroups(entry, ranks, std::move(meeting->groups))
                : meeting.status();
    if (status.isOk()) {
      status = registerMemory(entry, ranks);
    }
    if (!status.isOk()) {
      return status;
    }
    known = connected_.insert({entry, {meeting->mayRecord}}).first;
  }
  Connected &connected = known->second;
  ++connected.runs;
  return connected.isRecorded ? connected.runs : 0;
}
