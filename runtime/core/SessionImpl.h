//===- SessionImpl.h - What a session holds ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_SESSIONIMPL_H
#define DIVISI_RUNTIME_CORE_SESSIONIMPL_H

#include "divisi/runtime/Session.h"
#include "runtime/core/GlobalBoxes.h"
#include "runtime/core/RankProgram.h"
#include "runtime/core/RankThreads.h"

namespace divisi::rt {

/// What the ranks of one run read and write.
struct RunTensors {
  std::vector<HostTensor> inputs, outputs;
};

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
  /// The same while the state is lost.
  Status checkState() const;
  Status runEntry(size_t entry, const std::shared_ptr<RunTensors> &tensors);

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
  RunState run;                         ///< Of the last one.
  bool stateIsLost = false;             ///< Until it is loaded again.
  std::unique_ptr<RankThreads> threads; ///< Last: they use all of the above.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_SESSIONIMPL_H
