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

/// Adds to `session`, which runs an artifact of `numRanks`, what connects its
/// devices: the caller's communicators and GPUs, by `options`. `world` becomes
/// what keeps the processes of its MPI_Comm together, if it has one; then it
/// fails on all of them, if on one. With Usage where what was given does not
/// fit, with Device where MPI or NCCL does not work.
Status connectDevices(const divisi_context_options &options, uint32_t numRanks,
                      SessionOptions &session,
                      std::shared_ptr<ProcessWorld> &world);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CAPI_CONTEXTOPTIONS_H
