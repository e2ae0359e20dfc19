//===- Session.cpp - Running an artifact ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/Session.h"
#include "divisi/runtime/ArtifactFile.h"
#include "divisi/runtime/InprocCommunicator.h"
#include "runtime/core/EntryInputs.h"
#include "runtime/core/GlobalBoxes.h"
#include "runtime/core/RankProgram.h"
#include "runtime/core/RankThreads.h"
#include "runtime/core/Trace.h"

#include <algorithm>
#include <atomic>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

/// Each rank is a thread of this process.
static constexpr uint32_t maxThreads = 512;

struct Session::Impl {
  Impl(ArtifactFile file, const SessionOptions &options)
      : options(options), file(std::move(file)) {}

  Status load();
  Status allocateArenas();
  Status prepareRank(uint32_t rank);
  void describeEntries();
  /// RankThreads::runOnAll, with waits ended at an error and possible again
  /// afterwards.
  Status runOnAll(RankThreads::Job job, RankWatch watch = {});
  /// Device once a rank is stuck.
  Status checkAlive() const;

  SessionOptions options;
  ArtifactFile file;
  std::unique_ptr<ResolvedManifest> resolved;
  GlobalBoxes globals;
  std::unique_ptr<Communicator> communicator;
  std::vector<EntryInfo> entries;
  std::vector<AlignedBytes> arenas;          ///< One per rank.
  std::vector<AlignedBytes> extraWorkspaces; ///< One per rank.
  /// [entry][rank]; null where a rank has no program.
  std::vector<std::vector<std::unique_ptr<RankProgram>>> programs;
  size_t lastEntry = 0;
  std::atomic<bool> sawBadIndex = false; ///< In the last run, by any rank.
  std::unique_ptr<RankThreads> threads;  ///< Last: they use all of the above.
};

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
         options.checksIndices, &sawBadIndex});
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
// Asking
//===----------------------------------------------------------------------===//

uint32_t Session::numRanks() const {
  return impl_->resolved->manifest->num_ranks();
}

std::span<const EntryInfo> Session::entries() const { return impl_->entries; }

const EntryInfo *Session::findEntry(std::string_view name) const {
  for (const EntryInfo &entry : impl_->entries) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::vector<GlobalInfo> Session::globals() const {
  std::vector<GlobalInfo> infos;
  const ResolvedManifest &resolved = *impl_->resolved;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    const pb::Global &message = resolved.manifest->globals(static_cast<int>(i));
    infos.push_back(
        {{message.name(), resolved.globals[i]->type, resolved.globals[i]->dims},
         message.kind(),
         resolved.isUpdated[i]});
  }
  return infos;
}

std::vector<KernelCalls> Session::kernelCalls() const {
  std::vector<KernelCalls> all;
  for (size_t e = 0; e < impl_->programs.size(); ++e) {
    for (uint32_t rank = 0; rank < numRanks(); ++rank) {
      const auto &program = impl_->programs[e][rank];
      if (!program) {
        continue;
      }
      for (const auto &[key, calls] : program->kernelCounts()) {
        all.push_back(
            {impl_->entries[e].name, rank, key.first, key.second, calls});
      }
    }
  }
  return all;
}

std::vector<RankMemory> Session::memory() const {
  std::vector<RankMemory> ranks = plannedMemory(*impl_->resolved);
  for (uint32_t rank = 0; rank < numRanks(); ++rank) {
    ranks[rank].arena = impl_->arenas[rank].size();
    ranks[rank].workspace = impl_->extraWorkspaces[rank].size();
    for (const auto &ofEntry : impl_->programs) {
      if (ofEntry[rank]) {
        addMemory(ranks[rank], ofEntry[rank]->memory());
      }
    }
  }
  return ranks;
}

Expected<std::vector<RankMemory>> Session::predictedMemory() const {
  return predictMemory(*impl_->resolved->manifest, impl_->options.backends,
                       impl_->options.threadsPerDevice);
}

Expected<HostTensor> Session::readGlobal(std::string_view name) const {
  if (Status status = impl_->checkAlive(); !status.isOk()) {
    return status;
  }
  const ResolvedManifest &resolved = *impl_->resolved;
  for (size_t i = 0; i < resolved.globals.size(); ++i) {
    if (resolved.manifest->globals(static_cast<int>(i)).name() != name) {
      continue;
    }
    const Placement &placement = *resolved.globals[i];
    const GridInfo &grid = resolved.grids[placement.grid];
    Expected<HostTensor> tensor =
        HostTensor::zeros(placement.type, placement.dims, std::string(name));
    if (!tensor) {
      return tensor;
    }
    std::vector<size_t> order(placement.boxes.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<Fetch> fetches;
    // Layouts leave no index to nobody, so all of it is found.
    planFetches(byteWidth(placement.type), Box::whole(placement.dims),
                placement.boxes, order, fetches);
    for (const Fetch &fetch : fetches) {
      uint32_t owner = grid.devices[fetch.owner];
      if (Status status = impl_->globals.check(i, owner); !status.isOk()) {
        return status;
      }
      fetch.copy.run(impl_->globals.data(i, owner), tensor->data());
    }
    return tensor;
  }
  return makeError(ExitCode::Usage, "the artifact has no global '", name, "'");
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

/// What the ranks of one run read and write.
struct RunTensors {
  std::vector<HostTensor> inputs, outputs;
};

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

Expected<std::vector<HostTensor>>
Session::run(std::string_view name, std::span<const HostTensor> inputs) {
  const EntryInfo *info = findEntry(name);
  if (!info) {
    return makeError(ExitCode::Usage, "the artifact has no entry '", name, "'");
  }
  size_t entry = info - impl_->entries.data();
  Status status = impl_->checkAlive();
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
  impl_->lastEntry = entry;
  impl_->sawBadIndex = false;
  const auto &programs = impl_->programs[entry];
  status = impl_->runOnAll(
      [&programs, shared](uint32_t rank) {
        RankProgram *program = programs[rank].get();
        if (!program) {
          return Status();
        }
        program->bind(shared->inputs, shared->outputs);
        return program->run();
      },
      watchKernels(programs, impl_->options));
  if (status.isOk() && impl_->sawBadIndex) {
    status = RankProgram::firstFault(programs);
  }
  if (!status.isOk()) {
    return status.in("entry '" + std::string(name) + "'");
  }
  return std::move(shared->outputs);
}

Status Session::writeTrace(const std::string &path) const {
  if (!impl_->options.trace) {
    return makeError(ExitCode::Usage,
                     "the session was opened without recording a trace");
  }
  if (Status status = impl_->checkAlive(); !status.isOk()) {
    return status;
  }
  std::vector<TraceRank> ranks;
  for (uint32_t rank = 0; rank < numRanks(); ++rank) {
    const auto &program = impl_->programs[impl_->lastEntry][rank];
    if (program) {
      ranks.push_back({rank, program.get()});
    }
  }
  const ResolvedManifest &resolved = *impl_->resolved;
  return writeChromeTrace(path, *resolved.manifest,
                          resolved.entries[impl_->lastEntry], ranks);
}
