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

static ValueInfo describeValue(const pb::Value &value,
                               const Placement &placement) {
  return {value.name(), placement.type, placement.dims, {}};
}

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
  for (const ResolvedEntry &entry : resolved->entries) {
    if (entry.isBody()) {
      break; // they are the last
    }
    EntryInfo &info = entries.emplace_back();
    info.name = entry.message->name();
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      info.inputs.push_back(describeValue(
          entry.message->inputs(static_cast<int>(i)), *entry.inputs[i]));
      info.inputs.back().boxes = boxesOf(*entry.inputs[i], localRanks);
    }
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      info.outputs.push_back(describeValue(
          entry.message->outputs(static_cast<int>(i)), *entry.outputs[i]));
      info.outputs.back().boxes = boxesOf(*entry.outputs[i], localRanks);
    }
    info.computedIn = leastExactType(*resolved, entry);
  }
}

/// Why the session does not run native code; empty: it does.
static std::string whyUntrusted(const ArtifactFile &file,
                                const SessionOptions &options) {
  if (options.allowsNativeCode) {
    return "";
  }
  if (file.signer().empty()) {
    return "nobody has signed it";
  }
  std::string key = publicKeyText(file.signer());
  if (!file.isSignatureRight()) {
    return "its signature by '" + key + "' is wrong";
  }
  bool isTrusted = std::ranges::count(options.trustedKeys, file.signer()) != 0;
  return isTrusted ? "" : "it is signed by '" + key + "', which is not trusted";
}

/// Code for the host can do whatever this process can, and code for a GPU reach
/// all memory that the process has there. Calls can go without the one, and not
/// without the other. Code for another device is run by who made the session
/// with it.
Status Session::Impl::chooseCodes() {
  const pb::Manifest &manifest = *resolved->manifest;
  std::string untrusted =
      manifest.codes().empty() ? "" : whyUntrusted(file, options);
  for (const pb::Code &code : manifest.codes()) {
    std::string_view level = levelOfTarget(code.target());
    if (level.empty()) {
      continue;
    }
    ++nativeCode.codes;
    nativeCode.bytes += code.bytes();
    if (!runsOnHost(code.target())) {
      nativeCode.refused =
          "it is for " + std::string(level) + ", which this processor is not";
    }
  }
  bool hasGrids =
      std::ranges::any_of(manifest.codes(), [](const pb::Code &code) {
        return isGridTarget(code.target());
      });
  if (hasGrids && !untrusted.empty()) {
    return makeError(ExitCode::Unsupported,
                     "the artifact's code for GPUs is not run: ", untrusted,
                     "; trust who signed it (--trust), allow native code "
                     "whoever made it (--allow-native), or compile the model "
                     "again");
  }
  if (nativeCode.codes > 0 && !untrusted.empty()) {
    nativeCode.refused = untrusted;
  }
  for (int i = 0; i < manifest.codes_size(); ++i) {
    std::string_view target = manifest.codes(i).target();
    bool isRefused =
        !levelOfTarget(target).empty() && !nativeCode.refused.empty();
    codes.push_back(isRefused ? KernelCode()
                              : KernelCode{target, file.codeBytes(i)});
  }
  return {};
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
                        codes};
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
  Expected<std::unique_ptr<ResolvedManifest>> read =
      resolveManifest(file.manifest());
  if (!read) {
    return read.status();
  }
  resolved = std::move(*read);
  Status status = verifyResolved(*resolved, options.backends);
  if (status.isOk()) {
    status = chooseRanks();
  }
  if (!status.isOk()) {
    return status;
  }
  Expected<GlobalBoxes> store = GlobalBoxes::load(*resolved, file, localRanks);
  if (!store) {
    return store.status();
  }
  globals = std::move(*store);
  if (status = connect(); !status.isOk()) {
    return status;
  }
  describeEntries();
  status = chooseCodes();
  if (status.isOk()) {
    status = allocateSpaces();
  }
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
Session::open(const std::string &path, const SessionOptions &options) {
  if (options.backends.empty()) {
    return makeError(ExitCode::Usage, "no backend was chosen");
  }
  Expected<ArtifactFile> file =
      ArtifactFile::open(path, {options.externalFolder, options.verifyHashes});
  if (!file) {
    return file.status();
  }
  if (!options.artifactHash.empty() && options.artifactHash != file->hash()) {
    return makeError(ExitCode::Invalid, "'", path,
                     "' was replaced while processes agreed on it; run again");
  }
  auto impl = std::make_unique<Impl>(std::move(*file), options);
  if (Status status = impl->load(); !status.isOk()) {
    return status.in("'" + path + "'");
  }
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}
