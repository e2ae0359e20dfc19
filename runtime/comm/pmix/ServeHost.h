//===- ServeHost.h - The server of the processes of a host ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PMIX_SERVEHOST_H
#define DIVISI_RUNTIME_COMM_PMIX_SERVEHOST_H

#include "divisi/runtime/comm/ProcessWorld.h"
#include "runtime/comm/pmix/Rendezvous.h"

namespace divisi::rt {

/// Starts a server of PMIx, by the shared object `library`, at which those of
/// `launch` that are on this host meet, at `address`: each says its number and
/// is answered with variables of its environment, or why there are none, which
/// only the first is told in words. It is a process that outlives this one as
/// long as others of the host need it, and that signals to all of them do not
/// end. To be called before there are threads. Fails with Usage if somebody
/// has done so before.
Status startHostServer(const SocketAddress &address, const std::string &library,
                       const Launch &launch, std::chrono::milliseconds timeout);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_SERVEHOST_H
