//===- RankContext.h - What a program of a rank is made from ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKCONTEXT_H
#define DIVISI_RUNTIME_CORE_RANKCONTEXT_H

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/core/LastSteps.h"
#include "runtime/core/RankSpaces.h"

#include <atomic>

namespace divisi::rt {

/// What the session and its ranks tell each other in a run.
struct RunState {
  /// That globals are written from now on.
  std::atomic<bool> hasCommitted = false;
  /// That the run goes on without a rank: it must write nothing any more.
  std::atomic<bool> isGivenUp = false;
  /// That the caller wants the run to end.
  std::atomic<bool> isCancelled = false;
};

/// What a run fails with that is cancelled.
Status cancelledRun();

/// What a program is prepared from, for one rank.
struct RankContext {
  const ResolvedManifest &resolved; ///< Must outlive the program.
  size_t entryIndex;                ///< Among the manifest's entries.
  uint32_t rank;                    ///< Whose program it is.
  const RankSpaces *spaces;         ///< Unused by predict(), as what follows.
  GlobalBoxes *globals;             ///< Those of the process, on the host.
  Communicator *communicator;       ///< Never null for prepare().
  /// Asked for kernels in this order.
  std::span<const Backend *const> backends;
  int threads;
  bool trace = false;
  bool checksIndices = true;
  bool packsConstants = true;
  RunState *state = nullptr;      ///< One for all ranks of the session.
  LastSteps *lastSteps = nullptr; ///< One for all programs of the rank.
  /// The ranks of the session, ascending.
  std::span<const uint32_t> localRanks;
  /// Of each code of the artifact; unused by predict().
  std::span<const KernelCode> codes = {};
  /// Of a body, by memory space: where its arena begins, in that of the program
  /// with the loop.
  std::vector<std::byte *> bodyArenas = {};
  /// Whether what a device does alone is recorded, and done as one.
  bool usesGraphs = false;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKCONTEXT_H
