//===- DeviceWiring.h - The GPUs of ranks -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_LAUNCH_DEVICEWIRING_H
#define DIVISI_RUNTIME_LAUNCH_DEVICEWIRING_H

#include "divisi/runtime/launch/Processes.h"

namespace divisi::rt {

/// Gives the local ranks of `options` the GPUs that their programs ask for, and
/// a communicator that reaches them over the one that it has. `processes`,
/// which have divided the ranks, outlive the session; null: this one has all.
void wireDevices(SessionOptions &options, const Processes *processes);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_LAUNCH_DEVICEWIRING_H
