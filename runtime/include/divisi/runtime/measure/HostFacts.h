//===- HostFacts.h - Facts about this machine -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_MEASURE_HOSTFACTS_H
#define DIVISI_RUNTIME_MEASURE_HOSTFACTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace divisi::rt {

/// The memory that this process may have: that of the machine, or the limit of
/// its control group if that is less. `root` is where the system's files are.
int64_t hostMemoryBytes(const std::string &root = "");

/// A port that leads to other machines.
struct NetworkPort {
  std::string name;          ///< `mlx5_0`, `eth0`
  double bytesPerSecond = 0; ///< Nominal, in one direction.
};

/// Those that are up and say how fast they are, by their names: InfiniBand's
/// (and RoCE's), or else those of the network. None where the system says
/// nothing. `root` as above.
std::vector<NetworkPort> networkPorts(const std::string &root = "");

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_MEASURE_HOSTFACTS_H
