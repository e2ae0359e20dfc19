//===- Session.cpp - Running an artifact ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/ArtifactFile.h"
#include "divisi/runtime/InprocCommunicator.h"
#include "runtime/core/EntryInputs.h"
#include "runtime/core/SessionImpl.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// Each rank is a thread of this process.
static constexpr uint32_t maxThreads = 512;

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Session::~Session() {
  RankThreads &threads = *impl_->threads;
  if (threads.isStuck()) {
    threads.abandon(std::shared_ptr<Impl>(std::move(impl_)));
  }
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static ValueInfo describeValue(const pb::Value &value,
                               const Placement &placement) {
  return {value.name(), placement.type, placement.dims};
}

void Session::Impl::describeEntries() {
  for (const ResolvedEntry &entry : resolved->entries) {
    EntryInfo &info = entries.emplace_back();
    info.name = entry.message->name();
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      info.inputs.push_back(describeValue(
          entry.message->inputs(static_cast<int>(i)), *entry.inputs[i]));
    }
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      info.outputs.push_back(describeValue(
          entry.message->outputs(static_cast<int>(i)), *entry.outputs[i]));
    }
    info.computedIn = leastExactType(entry);
  }
}

/// One arena per rank serves all entries: they never run at the same time.
Status Session::Impl::allocateArenas() {
  std::vector<int64_t> bytes(resolved->manifest->num_ranks(), 0);
  for (const ResolvedEntry &entry : resolved->entries) {
    for (const auto &[rank, program] : entry.programOfRank) {
      bytes[rank] =
          std::max(bytes[rank], entry.programs[program].message->arena_bytes());
    }
  }
  for (uint32_t rank = 0; rank < bytes.size(); ++rank) {
    Expected<AlignedBytes> arena = AlignedBytes::allocate(bytes[rank]);
    if (!arena) {
      return arena.status().in("the arena of rank " + std::to_string(rank));
    }
    arenas.push_back(std::move(*arena));
  }
  extraWorkspaces.resize(bytes.size());
  return {};
}

/// Runs on the rank's own thread, so that what it packs lies near to it.
Status Session::Impl::prepareRank(uint32_t rank) {
  int64_t extraBytes = 0;
  for (size_t e = 0; e < resolved->entries.size(); ++e) {
    if (!resolved->entries[e].programOfRank.contains(rank)) {
      continue;
    }
    Expected<std::unique_ptr<RankProgram>> program = RankProgram::prepare(
        {*resolved, e, rank, arenas[rank].data(), &globals, communicator.get(),
         options.backends, options.threadsPerDevice, options.trace,
         options.checksIndices, &run});
    if (!program) {
      return program.status();
    }
    programs[e][rank] = std::move(*program);
    extraBytes = std::max(extraBytes, programs[e][rank]->memory().workspace);
  }
  Expected<AlignedBytes> workspace = AlignedBytes::allocate(extraBytes);
  if (!workspace) {
    return workspace.status().in("the workspace of rank " +
                                 std::to_string(rank));
  }
  extraWorkspaces[rank] = std::move(*workspace);
  for (auto &ofEntry : programs) {
    if (ofEntry[rank]) {
      ofEntry[rank]->setExtraWorkspace(extraWorkspaces[rank].data());
    }
  }
  return {};
}

Status Session::Impl::runOnAll(RankThreads::Job job, RankWatch watch) {
  auto aborted = std::make_shared<std::atomic<bool>>(false);
  Status status = threads->runOnAll(
      std::move(job),
      [this, aborted](const Status &error) {
        *aborted = true;
        communicator->abort(error);
      },
      watch);
  if (*aborted && !threads->isStuck()) {
    communicator->reset();
  }
  return status;
}

Status Session::Impl::checkAlive() const {
  return threads->isStuck()
             ? makeError(ExitCode::Device,
                         "the session is dead: a kernel of an earlier run has "
                         "not returned; open the artifact again")
             : Status();
}

Status Session::Impl::checkState() const {
  Status status = checkAlive();
  if (status.isOk() && stateIsLost) {
    return makeError(ExitCode::Device,
                     "the state of the session is lost: an earlier run failed "
                     "after its commit; load the state again");
  }
  return status;
}

Status Session::Impl::load() {
  Expected<std::unique_ptr<ResolvedManifest>> read =
      resolveManifest(file.manifest());
  if (!read) {
    return read.status();
  }
  resolved = std::move(*read);
  Status status = verifyResolved(*resolved, options.backends);
  if (!status.isOk()) {
    return status;
  }
  uint32_t numRanks = resolved->manifest->num_ranks();
  if (numRanks > maxThreads) {
    return makeError(ExitCode::Unsupported, "the artifact is for ", numRanks,
                     " ranks; one process runs at most ", maxThreads);
  }
  Expected<GlobalBoxes> store = GlobalBoxes::load(*resolved, file);
  if (!store) {
    return store.status();
  }
  globals = std::move(*store);
  communicator = makeInprocCommunicator(options.timeout);
  describeEntries();
  if (status = allocateArenas(); !status.isOk()) {
    return status;
  }
  programs.resize(resolved->entries.size());
  for (auto &ofEntry : programs) {
    ofEntry.resize(numRanks);
  }
  threads = std::make_unique<RankThreads>(numRanks);
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
  auto impl = std::make_unique<Impl>(std::move(*file), options);
  if (Status status = impl->load(); !status.isOk()) {
    return status.in("'" + path + "'");
  }
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static Expected<std::vector<HostTensor>> makeOutputs(const EntryInfo &entry) {
  std::vector<HostTensor> outputs;
  for (const ValueInfo &output : entry.outputs) {
    Expected<HostTensor> tensor =
        HostTensor::zeros(output.type, output.dims, output.name);
    if (!tensor) {
      return tensor.status();
    }
    outputs.push_back(std::move(*tensor));
  }
  return outputs;
}

namespace {

/// Since when a rank is at what it is at.
struct RankProgress {
  uint64_t progress = 0;
  std::chrono::steady_clock::time_point since;
};

} // namespace

/// Gives up a rank that is in one kernel for longer than the options allow.
static RankWatch
watchKernels(const std::vector<std::unique_ptr<RankProgram>> &programs,
             const SessionOptions &options) {
  auto seen = std::make_shared<std::vector<RankProgress>>(programs.size());
  return {
      std::chrono::milliseconds(50), [&programs, &options, seen] {
        auto now = std::chrono::steady_clock::now();
        for (size_t rank = 0; rank < programs.size(); ++rank) {
          const RankProgram *program = programs[rank].get();
          uint64_t progress = program ? program->progress() : 0;
          RankProgress &last = (*seen)[rank];
          if (!RankProgram::isWorking(progress) || progress != last.progress) {
            last = {progress, now};
          } else if (now - last.since > options.timeout + options.lateness) {
            return makeError(
                ExitCode::Device, program->locationOf(progress),
                ": the kernel has not returned for ", options.timeout.count(),
                " ms and is given up with the session; raise the timeout "
                "if it is busy");
          }
        }
        return Status();
      }};
}

/// Tells of a bad index after all else, so that it does not depend on who was
/// faster.
Status Session::Impl::runEntry(size_t entry,
                               const std::shared_ptr<RunTensors> &tensors) {
  lastEntry = entry;
  run.reset();
  const auto &ofEntry = programs[entry];
  Status status = runOnAll(
      [&ofEntry, tensors](uint32_t rank) {
        RankProgram *program = ofEntry[rank].get();
        if (!program) {
          return Status();
        }
        program->bind(tensors->inputs, tensors->outputs);
        return program->run();
      },
      watchKernels(ofEntry, options));
  if (status.isOk() && (run.sawBadIndex || run.sawLateBadIndex)) {
    status = RankProgram::firstFault(ofEntry);
    if (run.sawBadIndex) { // all have stopped, maybe with steps in flight
      communicator->abort(status);
      communicator->reset();
    }
  }
  stateIsLost = !status.isOk() && run.hasCommitted;
  return status;
}

Expected<std::vector<HostTensor>>
Session::run(std::string_view name, std::span<const HostTensor> inputs) {
  const EntryInfo *info = findEntry(name);
  if (!info) {
    return makeError(ExitCode::Usage, "the artifact has no entry '", name, "'");
  }
  size_t entry = info - impl_->entries.data();
  Status status = impl_->checkState();
  if (status.isOk()) {
    status = checkInputs(*info, inputs);
  }
  if (!status.isOk()) {
    return status;
  }
  Expected<std::vector<HostTensor>> made = makeOutputs(*info);
  if (!made) {
    return made.status();
  }
  // The job owns what it reads and writes: a rank that is given up goes on.
  auto shared = std::make_shared<RunTensors>();
  shared->inputs.assign(inputs.begin(), inputs.end());
  shared->outputs = std::move(*made);
  status = impl_->runEntry(entry, shared);
  if (!status.isOk()) {
    return status.in("entry '" + std::string(name) + "'");
  }
  return std::move(shared->outputs);
}

Status Session::reloadState() {
  Status status = impl_->checkAlive();
  if (status.isOk()) {
    status = impl_->globals.reload();
    impl_->stateIsLost &= !status.isOk();
  }
  return status;
}
