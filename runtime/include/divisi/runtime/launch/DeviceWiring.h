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

/// The backends of the host that are named in `names` ("cpu,reference"), and
/// behind them that of GPUs, whose kernels work in a memory of their own, where
/// no other does; `tf32` as cudaBackend() takes it. Fails as selectBackends().
Expected<std::vector<const Backend *>> chooseBackends(std::string_view names,
                                                      bool tf32);

/// Gives the local ranks of `options` the GPUs that their programs ask for, and
/// a communicator that reaches them over the one that it has. `processes`,
/// which have divided the ranks, outlive the session; null: this one has all.
void wireDevices(SessionOptions &options, const Processes *processes);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_LAUNCH_DEVICEWIRING_H
