//===- Launcher.h - Starting a command in several processes -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_LAUNCH_LAUNCHER_H
#define DIVISI_RUNTIME_LAUNCH_LAUNCHER_H

#include "divisi/Support/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace divisi::artifact {
class Manifest;
} // namespace divisi::artifact

namespace divisi::rt {

/// What an artifact says of the machines that it was planned for.
struct MachineShape {
  uint32_t numRanks = 0;     ///< Of the artifact.
  uint32_t machineRanks = 0; ///< Next to each other; 0: nothing is known.
  std::string links;         ///< Within a machine: `nvlink`.
};

/// That of the artifact.
MachineShape machineShapeOf(const artifact::Manifest &manifest);

/// How processes are started.
struct LaunchOptions {
  int64_t processes = 1; ///< How many.
  /// A host file of MPI, `name slots=4` in a line; empty: all on this host.
  std::string hosts;
  /// What lays processes on the hosts.
  MachineShape shape;
  /// How long after the first of them has ended the others may go on.
  std::chrono::milliseconds timeout{60000};
};

/// Starts this program's `arguments` in so many processes of MPI, by mpirun,
/// and waits for them. Returns their exit code, without a message: they have
/// said what was wrong. Those whose devices the plan takes to share a machine
/// are on one host. Fails with File if there is no mpirun or no host file, with
/// Usage if the hosts do not do (layOnHosts), with Device if a process was
/// ended by a signal.
Status launchProcesses(const LaunchOptions &options,
                       const std::vector<std::string> &arguments);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_LAUNCH_LAUNCHER_H
