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

/// Before the communicators whose calls they have.
void NcclRank::releaseGraphs() {
  for (const auto &noted : std::exchange(graphs_, {})) {
    if (auto graph = noted.lock()) {
      graph->reset();
    }
  }
}

/// All communicators, parts before what they are split from, without their
/// memory; from now on there are none.
std::vector<ncclComm_t> NcclRank::takeAll() {
  std::vector<ncclComm_t> all, wholes;
  for (const auto &[ranks, whole] : std::exchange(wholes_, {})) {
    if (whole) {
      wholes.push_back(whole);
    }
  }
  for (auto &[ranks, clique] : cliques_) {
    ncclComm_t own = std::exchange(clique.communicator, nullptr);
    if (own && !std::ranges::count(wholes, own)) {
      all.push_back(own);
    }
  }
  all.insert(all.end(), wholes.begin(), wholes.end());
  for (ncclComm_t communicator : all) {
    buffers_->remove(communicator);
  }
  connected_.clear();
  numRegistered_ = numRefused_ = 0;
  return all;
}

/// As one group: an abort returns when the device has freed its buffers, for
/// which it waits for what other communicators still do.
void NcclRank::abort() {
  if (!context_) {
    return;
  }
  releaseGraphs();
  std::vector<ncclComm_t> all = takeAll();
  all.insert(all.end(), finalized_.begin(), finalized_.end());
  finalized_.clear();
  if (all.empty()) {
    return;
  }
  context_->driver(); // the thread has the context
  library_->groupStart();
  for (ncclComm_t communicator : all) {
    library_->commAbort(communicator);
  }
  library_->groupEnd();
}

void NcclRank::finalize(uint64_t generation) {
  if (!context_ || generation_ != generation) {
    return abort(); // of the older ones others have ended theirs
  }
  releaseGraphs();
  context_->driver(); // the thread has the context
  finalized_ = takeAll();
  for (ncclComm_t communicator : finalized_) {
    (void)library_->commFinalize(communicator); // its state tells
  }
}

/// NCCL wants the state of one that was finalized to be success before it is
/// destroyed (NCCL User Guide, ncclCommFinalize).
void NcclRank::destroy() {
  bool hasFailed = false;
  for (ncclComm_t communicator : std::exchange(finalized_, {})) {
    hasFailed =
        hasFailed || !await(communicator, "finalize a communicator").isOk();
    context_->driver(); // the thread has the context
    hasFailed ? library_->commAbort(communicator)
              : library_->commDestroy(communicator);
  }
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
  auto facts = gather(
      names, {static_cast<int64_t>(own.size()), mayRecord, !cliques_.empty()},
      ranks);
  if (!facts) {
    return facts.status();
  }
  Meeting meeting;
  int64_t most = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    most = std::max(most, (*facts)[3 * i]);
    meeting.mayRecord &= (*facts)[3 * i + 1] != 0;
    if ((*facts)[3 * i + 2] != 0) {
      meeting.members.push_back(ranks[i]);
    }
  }
  std::ranges::sort(meeting.members);
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
  ncclConfig_t config = makeConfig(/*shares=*/true);
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
  ncclConfig_t config = makeConfig(/*shares=*/true);
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
                               const Meeting &meeting) {
  std::vector<Group> groups = meeting.groups;
  // What it was given stays whose it is: all of its own are split from it, by
  // all of its ranks.
  if (given_.communicator && ranks.size() == numRanks_) {
    return split(static_cast<ncclComm_t>(given_.communicator), groups);
  }
  if (groups.empty() ||
      std::ranges::find(meeting.members, number_) == meeting.members.end()) {
    return {};
  }
  auto whole = connectAll(entry, meeting.members);
  if (!whole) {
    return whole.status();
  }
  if (std::erase(groups, meeting.members) != 0) {
    cliques_.at(meeting.members).communicator = *whole;
  }
  return split(*whole, groups);
}

Expected<uint64_t> NcclRank::connect(uint32_t entry,
                                     std::span<const uint32_t> ranks,
                                     uint64_t generation, bool mayRecord) {
  if (generation_ != generation) {
    abort();
    generation_ = generation;
  }
  auto known = connected_.find(entry);
  if (known == connected_.end()) {
    auto meeting = meet(entry, ranks, mayRecord);
    Status status =
        meeting ? connectGroups(entry, ranks, *meeting) : meeting.status();
    if (status.isOk()) {
      status = registerMemory(entry, ranks, meeting->groups);
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
