//===- LoadSession.cpp - Loading an artifact ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Signature.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/RowCode.h"
#include "divisi/runtime/comm/Spin.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/verify/Verify.h"
#include "runtime/core/SessionImpl.h"

#include <algorithm>
#include <numeric>
#include <sched.h>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

std::vector<std::optional<Box>>
Session::Impl::boxesOf(const Placement &placement,
                       std::span<const uint32_t> ranks) const {
  std::vector<std::optional<Box>> boxes;
  for (uint32_t rank : ranks) {
    auto position = resolved->grids[placement.grid].positionOf(rank);
    boxes.push_back(position ? std::optional(placement.boxes[*position])
                             : std::nullopt);
  }
  return boxes;
}

void Session::Impl::describeEntries() {
  entries = artifact.entries;
  for (size_t e = 0; e < entries.size(); ++e) {
    const ResolvedEntry &entry = resolved->entries[e];
    entries[e].computedIn = leastExactType(*resolved, entry);
    entries[e].isQuantized = quantizes(*resolved, entry);
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      entries[e].inputs[i].boxes = boxesOf(*entry.inputs[i], localRanks);
    }
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      entries[e].outputs[i].boxes = boxesOf(*entry.outputs[i], localRanks);
    }
  }
}

/// What connects devices may have a say in it, where they meet.
StepMemory Session::Impl::stepMemory(uint32_t rank) const {
  bool meets = hasQueuedSteps(*resolved, rank);
  return [this, rank, meets](Device &device, int64_t bytes) {
    return meets ? communicator->allocate(rank, device, bytes)
                 : device.allocate(bytes);
  };
}

Status Session::Impl::allocateSpaces() {
  const pb::Manifest &manifest = *resolved->manifest;
  spaces.resize(manifest.num_ranks());
  for (uint32_t rank : localRanks) {
    Expected<RankSpaces> made = makeRankSpaces(
        *resolved, rank, globals, options.device, stepMemory(rank));
    if (!made) {
      return made.status();
    }
    spaces[rank] = std::move(*made);
    lastSteps.try_emplace(rank);
  }
  return {};
}

/// Runs on the rank's own thread, so that what it packs lies near to it.
Status Session::Impl::prepareRank(uint32_t rank) {
  SharedMemory shared;
  for (size_t e = 0; e < resolved->entries.size(); ++e) {
    const ResolvedEntry &entry = resolved->entries[e];
    if (entry.isBody() || !entry.programOfRank.contains(rank)) {
      continue;
    }
    RankContext context{*resolved,
                        e,
                        rank,
                        &spaces[rank],
                        &globals,
                        communicator.get(),
                        options.backends,
                        options.threadsPerDevice,
                        options.trace,
                        options.checksIndices,
                        options.packsConstants,
                        &state,
                        &lastSteps.at(rank),
                        localRanks,
                        artifact.codes};
    context.usesGraphs = options.usesGraphs;
    Expected<std::unique_ptr<RankProgram>> program =
        RankProgram::prepare(context);
    if (!program) {
      return program.status();
    }
    programs[e][rank] = std::move(*program);
    shared.raise(programs[e][rank]->memory());
  }
  Status status;
  for (size_t i = 0; status.isOk() && i < shared.workspaces.size(); ++i) {
    RankSpace &space = spaces[rank][i];
    status = space.allocate(shared.workspaces[i], space.workspace);
  }
  for (size_t i = 0; status.isOk() && i < shared.messages.size(); ++i) {
    RankSpace &space = spaces[rank][i];
    status = space.allocate(shared.messages[i], space.messages,
                            i == hostSpaceNumber ? nullptr : stepMemory(rank));
  }
  if (!status.isOk()) {
    return status.in("the workspace of rank " + std::to_string(rank));
  }
  for (auto &ofEntry : programs) {
    if (ofEntry[rank]) {
      ofEntry[rank]->setWorkspaces(spaces[rank]);
    }
  }
  return {};
}

/// Each local rank may be a thread of this process.
static constexpr uint32_t maxThreads = 512;

Status Session::Impl::chooseRanks() {
  uint32_t numRanks = resolved->manifest->num_ranks();
  localRanks = options.localRanks;
  if (localRanks.empty()) {
    localRanks.resize(numRanks);
    std::iota(localRanks.begin(), localRanks.end(), 0);
  }
  std::sort(localRanks.begin(), localRanks.end());
  if (std::adjacent_find(localRanks.begin(), localRanks.end()) !=
      localRanks.end()) {
    return makeError(ExitCode::Usage, "a local rank is named twice");
  }
  if (localRanks.back() >= numRanks) {
    return makeError(ExitCode::Usage, "local rank ", localRanks.back(),
                     ": the artifact has ", numRanks, " ranks");
  }
  if (localRanks.size() > maxThreads) {
    return makeError(ExitCode::Unsupported, "the session is for ",
                     localRanks.size(), " ranks; one process runs at most ",
                     maxThreads);
  }
  if (!hasAllRanks() && !options.communicator) {
    return makeError(ExitCode::Usage,
                     "a session of some ranks needs a communicator to others");
  }
  return {};
}

std::chrono::microseconds Session::Impl::spinWith(size_t others) const {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  size_t wanted = computingThreads() + others;
  bool hasCores = sched_getaffinity(0, sizeof(cores), &cores) == 0 &&
                  wanted <= static_cast<size_t>(CPU_COUNT(&cores));
  return hasCores ? spinLimit : std::chrono::microseconds(0);
}

Status Session::Impl::connect() {
  std::chrono::microseconds spin = spinWith(0);
  if (!options.communicator) {
    communicator = makeInprocCommunicator(options.timeout, spin);
    return {};
  }
  Expected<std::shared_ptr<Communicator>> made =
      options.communicator({resolved->manifest->num_ranks(), localRanks,
                            options.timeout, spin, computingThreads()});
  if (!made) {
    return made.status();
  }
  communicator = std::move(*made);
  return {};
}

/// Whether ranks wait for devices, whose work may never end.
bool Session::Impl::hasDevices() const {
  return std::ranges::any_of(spaces, [](const RankSpaces &ofRank) {
    return std::ranges::any_of(ofRank, [](const RankSpace &space) {
      return space.device && !space.device->isImmediate();
    });
  });
}

Status Session::Impl::load() {
  Status status = verifyResolved(*resolved, options.backends);
  if (status.isOk()) {
    status = chooseRanks();
  }
  if (!status.isOk()) {
    return status;
  }
  artifact.file.compareAgain();
  Expected<GlobalBoxes> store =
      GlobalBoxes::load(*resolved, artifact.file, artifact.boxes, localRanks);
  if (!store) {
    return store.status();
  }
  globals = std::move(*store);
  if (status = connect(); !status.isOk()) {
    return status;
  }
  describeEntries();
  status = allocateSpaces();
  if (!status.isOk()) {
    return status;
  }
  programs.resize(resolved->entries.size());
  for (auto &ofEntry : programs) {
    ofEntry.resize(resolved->manifest->num_ranks());
  }
  if (localRanks.size() > 1 || options.loneRankHasThread || hasDevices()) {
    // Between runs and while they last, the caller's thread wants a core, too.
    auto started = RankThreads::start(localRanks.size(), spinWith(1));
    if (!started) {
      return started.status();
    }
    threads = std::move(*started);
  }
  return runOnAll([this](uint32_t rank) { return prepareRank(rank); });
}

Expected<std::unique_ptr<Session>>
Session::open(std::shared_ptr<LoadedArtifact> artifact,
              const SessionOptions &options) {
  if (options.backends.empty()) {
    return makeError(ExitCode::Usage, "no backend was chosen");
  }
  std::string path = artifact->path();
  auto impl = std::make_unique<Impl>(std::move(artifact), options);
  if (Status status = impl->load(); !status.isOk()) {
    return status.in("'" + path + "'");
  }
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Expected<std::unique_ptr<Session>>
Session::open(const std::string &path, const SessionOptions &options) {
  if (options.backends.empty()) {
    return makeError(ExitCode::Usage, "no backend was chosen");
  }
  Expected<std::shared_ptr<LoadedArtifact>> artifact =
      LoadedArtifact::open(path, options);
  return artifact ? open(std::move(*artifact), options)
                  : Expected<std::unique_ptr<Session>>(artifact.status());
}
