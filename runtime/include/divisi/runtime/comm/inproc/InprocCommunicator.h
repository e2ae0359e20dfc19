//===- InprocCommunicator.h - Ranks as threads of a process -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_INPROC_INPROCCOMMUNICATOR_H
#define DIVISI_RUNTIME_COMM_INPROC_INPROCCOMMUNICATOR_H

#include "divisi/runtime/comm/Communicator.h"

#include <chrono>
#include <functional>

namespace divisi::rt {

/// Ranks are threads that read each other's memory: a step publishes pointers,
/// waits for its group, and copies. A wait is awake for `spin`, sleeps then,
/// and ends after `timeout`. A group's meeting comes about for all of it or for
/// nobody: once a rank has given up, who comes late fails too. `onTimeout` is
/// called by a rank that has given up, before it wakes others; tests let
/// somebody be late there.
std::unique_ptr<Communicator>
makeInprocCommunicator(std::chrono::milliseconds timeout,
                       std::chrono::microseconds spin = {},
                       std::function<void()> onTimeout = {});

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_INPROC_INPROCCOMMUNICATOR_H
