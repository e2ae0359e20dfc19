//===- Trace.h - What a run did, for a trace viewer -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_TRACE_H
#define DIVISI_RUNTIME_CORE_TRACE_H

#include "runtime/core/RankProgram.h"

namespace divisi::rt {

/// A rank whose last run is written.
struct TraceRank {
  uint32_t rank;              ///< Its number.
  const RankProgram *program; ///< Must outlive the call.
};

/// Writes one complete event per task in Chrome's trace format: a process per
/// rank, a thread per queue, microseconds since the first of them. A collective
/// lasts from its start until it was seen to be done.
Status writeChromeTrace(const std::string &path,
                        const artifact::Manifest &manifest,
                        const ResolvedEntry &entry,
                        std::span<const TraceRank> ranks);

/// What a rank did last.
struct StepsOfRank {
  uint32_t rank;       ///< Its number.
  std::string worksAt; ///< The instruction in whose kernel it is; maybe none.
  const LastSteps *steps; ///< Owned by the session.
};

/// Writes when ranks came to their last steps and when these were done, as
/// JSON: per rank the oldest first, with microseconds before now.
Status writeLastSteps(const std::string &path, const ResolvedManifest &resolved,
                      std::span<const StepsOfRank> ranks);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_TRACE_H
