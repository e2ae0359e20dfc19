//===- InprocCommunicator.h - Ranks as threads of a process ---*- C++ -*--===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_INPROCCOMMUNICATOR_H
#define DIVISI_RUNTIME_INPROCCOMMUNICATOR_H

#include "divisi/runtime/Communicator.h"

#include <chrono>

namespace divisi::rt {

/// Ranks are threads that read each other's memory: a step publishes pointers,
/// waits for its group, and copies. Waits block (no spinning) and end after
/// `timeout`.
std::unique_ptr<Communicator>
makeInprocCommunicator(std::chrono::milliseconds timeout);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_INPROCCOMMUNICATOR_H
