//===- Hosts.h - Processes on hosts, as a plan wants them -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is made for a cluster whose inner links join the devices of a machine.
// Where processes run on several hosts, those that have devices of one machine
// belong on one host:
//
//   machines of 4 devices, 8 devices, 4 processes      {0, 1}, {2, 3}
//   hosts a (3 slots), b (1), c (2)                    a:2,c:2
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_LAUNCH_HOSTS_H
#define DIVISI_RUNTIME_LAUNCH_HOSTS_H

#include "divisi/runtime/launch/Launcher.h"

namespace divisi::rt {

/// A host, and how many processes it takes.
struct Host {
  std::string name;  ///< As the file has it.
  int64_t slots = 1; ///< Of all of its lines.
};

/// The hosts of a file of MPI, in its order, each once. ExitCode::File or
/// Invalid.
Expected<std::vector<Host>> readHosts(const std::string &path);

/// The processes of each machine of the plan, in order: how many they are.
/// Those that have devices of two machines join them.
std::vector<int64_t> processesByMachine(int64_t processes,
                                        const MachineShape &shape);

/// Where `processes` run, as mpirun's --host takes it: host by host in the
/// order of the file at `path`, those of a machine together. ExitCode::Usage if
/// the hosts lack slots, or none has as many as a machine wants.
Expected<std::string> layOnHosts(const std::string &path, int64_t processes,
                                 const MachineShape &shape);

/// Where a process is: the same number and name for all of a machine.
struct ProcessPlace {
  uint32_t machine = 0; ///< Its number.
  std::string name;     ///< Of the host.
};

/// What is wrong with `places`, of which there is one for each process: which
/// devices the plan takes to share a machine, and where they are. Empty:
/// nothing.
std::string misplacedDevices(const std::vector<ProcessPlace> &places,
                             const MachineShape &shape);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_LAUNCH_HOSTS_H
