//===- SessionImpl.h - What a session holds ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_SESSIONIMPL_H
#define DIVISI_RUNTIME_CORE_SESSIONIMPL_H

#include "divisi/runtime/core/Session.h"
#include "runtime/core/GlobalBoxes.h"
#include "runtime/core/LoadedArtifactImpl.h"
#include "runtime/core/RankProgram.h"
#include "runtime/core/RankState.h"
#include "runtime/core/RankThreads.h"

namespace divisi::rt {

/// What a session keeps; the methods of Session without their checks of
/// arguments.
struct Session::Impl {
  /// Of an artifact whose programs are not prepared yet.
  Impl(std::shared_ptr<LoadedArtifact> loaded, const SessionOptions &options)
      : options(options), loaded(std::move(loaded)),
        artifact(*this->loaded->impl_), resolved(artifact.resolved.get()) {}

  /// Checks the artifact and prepares all programs of this process. Fails as
  /// Session::open does.
  Status load();
  /// Runs an entry, all of whose arguments fit. What `kept` holds lives until
  /// no rank uses it any more.
  Status run(size_t entry, std::span<const TensorArgument> inputs,
             std::span<const TensorArgument> outputs,
             std::shared_ptr<void> kept);
  /// Device once a rank is stuck.
  Status checkAlive() const;
  /// The same while the state is lost.
  Status checkState() const;
  /// The same once a run has failed in which other sessions had a part.
  Status checkRunnable() const;
  /// Whether a rank did not come back from a run.
  bool isStuck() const { return threads && threads->isStuck(); }
  /// Whether no other process has a part.
  bool hasAllRanks() const {
    return localRanks.size() == resolved->manifest->num_ranks();
  }

  /// Of each of `ranks`; nothing of one outside of the grid.
  std::vector<std::optional<Box>>
  boxesOf(const Placement &placement, std::span<const uint32_t> ranks) const;

  /// The box of a global that an entry updates, of a local rank.
  RankState stateOf(size_t global, uint32_t rank) {
    return rt::stateOf(*resolved, globals, spaces[rank], global, rank);
  }
  /// Its bytes with the host: there already, or in `stateCopy` from now on.
  Expected<std::span<const std::byte>> readState(size_t global, uint32_t rank);

  /// What each rank's program of the entry answers; without one: nothing.
  template <typename Query>
  auto askRanks(const EntryInfo *entry, Query query) const;

  SessionOptions options;                     ///< As they were given.
  std::shared_ptr<LoadedArtifact> loaded;     ///< As long as the session lives.
  LoadedArtifact::Impl &artifact;             ///< Of `loaded`.
  const ResolvedManifest *resolved;           ///< Of `artifact`.
  std::vector<uint32_t> localRanks;           ///< Ascending.
  GlobalBoxes globals;                        ///< Of all ranks of this process.
  std::shared_ptr<Communicator> communicator; ///< Between all ranks.
  std::vector<EntryInfo> entries; ///< As Session::entries lists them.
  std::vector<RankSpaces> spaces; ///< By rank; empty of those not local.
  AlignedBytes stateCopy;         ///< Of a box of a device, until the next run.
  std::map<uint32_t, LastSteps> lastSteps; ///< By local rank.
  /// [entry][rank]; null where a rank has no program, or is not local.
  std::vector<std::vector<std::unique_ptr<RankProgram>>> programs;
  size_t lastEntry = 0;
  std::mutex runMutex;      ///< Of the next.
  bool isRunning = false;   ///< A run that can be cancelled.
  bool isCutOff = false;    ///< From the ranks of other sessions.
  RunState state;           ///< Of the last run.
  bool stateIsLost = false; ///< Until it is loaded again.
  /// Null where the only rank works on the caller's thread. Last: they use all
  /// of the above.
  std::unique_ptr<RankThreads> threads;

private:
  Status chooseRanks();
  Status connect();
  StepMemory stepMemory(uint32_t rank) const;
  Status allocateSpaces();
  bool hasDevices() const;
  Status prepareRank(uint32_t rank);
  void describeEntries();
  /// Calls `job` with each local rank. RankThreads::runOnAll, with waits ended
  /// at an error and possible again afterwards.
  Status runOnAll(RankThreads::Job job, RankWatch watch = {});
  Status runOnCaller(const RankThreads::Job &job);
  /// How long a thread may spin: the ranks' threads and `others` have a core
  /// each, or not at all.
  std::chrono::microseconds spinWith(size_t others) const;
  /// Of all local ranks.
  size_t computingThreads() const {
    return localRanks.size() * std::max(options.threadsPerDevice, 1);
  }
  void beginRun();
  void endRun();
  RankWatch watchKernels(size_t entry);
  Status findBadIndex(size_t entry);
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_SESSIONIMPL_H
