//===- Launcher.h - Starting a command in several processes -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_LAUNCHER_H
#define DIVISI_LIB_DRIVER_LAUNCHER_H

#include "Hosts.h"
#include "divisi/Support/Status.h"

#include <chrono>
#include <string>
#include <vector>

namespace divisi {

/// How `--launch` starts processes.
struct LaunchOptions {
  int64_t processes = 1;
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
Status launch(const LaunchOptions &options,
              const std::vector<std::string> &arguments);

/// Where the shared object `name` for several processes lies, beside the folder
/// of this program.
std::string sharedObject(const std::string &name);

/// Writes `prefix` before each line that this process writes to stderr from now
/// on, also if it crashes.
void prefixErrors(const std::string &prefix);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_LAUNCHER_H
