//===- ContextOptions.h - How a context is made -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CAPI_CONTEXTOPTIONS_H
#define DIVISI_RUNTIME_CAPI_CONTEXTOPTIONS_H

#include "divisi-c/runtime.h"
#include "divisi/runtime/comm/ProcessWorld.h"
#include "divisi/runtime/core/Session.h"

namespace divisi::rt {

/// What the caller's structure says of a session, but of what connects its
/// devices. `options` are its fields. Fails with Usage where they are out of
/// range, and as readStruct does.
Expected<SessionOptions> readOptions(const divisi_context_options *given,
                                     divisi_context_options &options);

/// Adds to `session`, which runs `artifact`, what connects its devices: the
/// caller's communicators and GPUs, by `options`. `world` becomes what keeps
/// its processes together, if it has some; then it fails on all of them, if on
/// one. With Usage where what was given does not fit, with Device where MPI or
/// NCCL does not work.
Status connectDevices(const divisi_context_options &options,
                      const LoadedArtifact &artifact, SessionOptions &session,
                      std::shared_ptr<ProcessWorld> &world);

/// What the processes of a context have alike.
struct ContextFacts {
  bool hasNccl = false; ///< Whether there are communicators of NCCL.
  std::string artifact; ///< The hash of what is run.
};
/// `own` if it is a failure; else that of another process, or Usage where
/// `facts` differ.
Status agree(ProcessWorld &world, const Status &own, const ContextFacts &facts,
             std::chrono::milliseconds timeout);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CAPI_CONTEXTOPTIONS_H
