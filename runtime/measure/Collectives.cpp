//===- Collectives.cpp - Collectives, timed -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/measure/Measure.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

int64_t CollectiveCase::count(int64_t members) const {
  int64_t unit = members * members;
  int64_t least = kind == "all_to_all" ? unit : 2 * members;
  return std::max(least, bytes / 4 / unit * unit);
}

int64_t CollectiveCase::pricedBytes(int64_t members) const {
  return 4 * count(members) / (kind == "all_to_all" ? members : 1);
}

/// The line of a tensor's elements, cut in parts; of an all-to-all a square of
/// blocks.
StepDesc CollectiveCase::describe(int64_t members) const {
  StepDesc step;
  step.location = kind;
  int64_t elements = count(members);
  if (kind == "all_reduce" || kind == "reduce_scatter") {
    step.reduce = ReduceKind::Sum;
  }
  for (int64_t i = 0; i < members; ++i) {
    Box whole = Box::whole({elements});
    Box part{{elements / members * i}, {elements / members * (i + 1)}};
    StepParty party{static_cast<uint32_t>(i), whole, whole};
    if (kind == "all_gather") {
      party.source = part;
    } else if (kind == "reduce_scatter") {
      party.result = part;
    } else if (kind == "all_to_all") {
      int64_t side = elements / members / members;
      party.source = Box{{0, side * i}, {members, side * (i + 1)}};
      party.result = Box{{i, 0}, {i + 1, side * members}};
    }
    step.parties.push_back(party);
  }
  return step;
}

//===----------------------------------------------------------------------===//
// A rank's share
//===----------------------------------------------------------------------===//

namespace {

/// What one rank has of a collective: what the host does with others, or, in
/// the memory of a device, what the devices do.
class Member {
public:
  bool isPrepared() const { return met_ || queued_; }
  /// Called by the rank's thread: some wait for others.
  Status prepare(Communicator &communicator, const DeviceClock &clock,
                 const StepDesc &step, size_t self);
  Expected<double> time(Communicator &communicator, const DeviceClock &clock);

private:
  Status prepareQueued(Communicator &communicator, const DeviceClock &clock,
                       const StepDesc &step, size_t self);

  std::shared_ptr<DeviceMemory> source_, result_, workspace_;
  std::optional<LoneStep> met_;
  std::unique_ptr<QueuedStep> queued_;
};

} // namespace

Status Member::prepareQueued(Communicator &communicator,
                             const DeviceClock &clock, const StepDesc &step,
                             size_t self) {
  auto share = communicator.prepareQueued(step, self, clock.device());
  auto workspace =
      share ? clock.allocate((*share)->workspaceBytes()) : share.status();
  if (!workspace) {
    return workspace.status();
  }
  workspace_ = std::move(*workspace);
  queued_ = std::move(*share);
  queued_->setWorkspace(workspace_->data());
  std::vector<uint32_t> ranks;
  for (const StepParty &party : step.parties) {
    ranks.push_back(party.rank);
  }
  return communicator
      .beginRun(step.entry, ranks, ranks[self], /*mayRecord=*/false)
      .status();
}

Status Member::prepare(Communicator &communicator, const DeviceClock &clock,
                       const StepDesc &step, size_t self) {
  const StepParty &party = step.parties[self];
  for (auto [memory, box] : {std::pair(&source_, &party.source),
                             std::pair(&result_, &party.result)}) {
    auto made = clock.allocate((*box)->count() * byteWidth(step.type));
    if (!made) {
      return made.status();
    }
    *memory = std::move(*made);
  }
  if (clock.device().space() != hostSpace) {
    return prepareQueued(communicator, clock, step, self);
  }
  auto share = LoneStep::prepare(communicator, step, self);
  if (!share) {
    return share.status();
  }
  met_ = std::move(*share);
  return {};
}

Expected<double> Member::time(Communicator &communicator,
                              const DeviceClock &clock) {
  if (queued_) {
    return clock.time(
        [&] {
          return queued_->put(*clock.queue(), source_->data(), result_->data());
        },
        1, [&] { return queued_->check(/*isNext=*/true); });
  }
  return clock.time(
      [&] {
        return runStep(communicator, **met_, source_->data(), result_->data());
      },
      1);
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

Expected<RoundTimes> divisi::rt::timeCollective(
    Communicator &communicator,
    std::span<const std::unique_ptr<DeviceClock>> devices,
    const CollectiveCase &collective, uint32_t number, double seconds) {
  StepDesc step = collective.describe(int64_t(devices.size()));
  step.entry = number;
  std::vector<Member> members(devices.size());
  auto once = [&](size_t rank) -> Expected<double> {
    Member &member = members[rank];
    const DeviceClock &clock = *devices[rank];
    Status status = member.isPrepared()
                        ? Status()
                        : member.prepare(communicator, clock, step, rank);
    auto time = status.isOk() ? member.time(communicator, clock)
                              : Expected<double>(status);
    if (!time) { // or others would wait for it
      communicator.abort(time.status());
      communicator.endQueued(step.parties[rank].rank);
    }
    return time;
  };
  return timeTogether(devices.size(), seconds, once);
}
