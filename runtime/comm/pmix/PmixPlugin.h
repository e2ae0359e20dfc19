//===- PmixPlugin.h - What the shared object for PMIx offers ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIVISI_RUNTIME_COMM_PMIX_PMIXPLUGIN_H
#define DIVISI_RUNTIME_COMM_PMIX_PMIXPLUGIN_H

#include "divisi/Support/Status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace divisi::rt {

/// The processes of one host.
struct PmixHost {
  std::string name;                ///< As PMIx has it.
  std::vector<uint32_t> processes; ///< By their number on the host.
};

/// What a server of PMIx is told.
struct PmixJob {
  std::string name; ///< The same on all hosts, and that of no other job.
  std::vector<PmixHost> hosts; ///< In the order of the processes.
  uint32_t self = 0;           ///< Whose processes it serves.
  std::string folder;          ///< For its files, and those of the processes.
  /// What the servers of all hosts say, one behind the other. All call it
  /// equally often, in the same order, from a thread that may wait. Not called
  /// where there is one host.
  std::function<Expected<std::string>(const std::string &own)> exchange;
};

/// A server of PMIx for the processes of one host, which need not be its
/// children. It works in threads of its own until it is destroyed.
class PmixServer {
public:
  virtual ~PmixServer() = default;

  /// What has to be in the environment of a process for MPI to find the server
  /// and the other processes: NAME=value.
  virtual Expected<std::vector<std::string>>
  environment(uint32_t process) const = 0;
};

/// The one symbol of the shared object. `build` is what the caller was built
/// from, which has to be the same: they share C++ types. Returns null, and why
/// in `status`, where there is no server. One in a process.
using OpenPmixPlugin = PmixServer *(const std::string &build,
                                    const PmixJob &job, Status &status);
/// Its name.
inline constexpr const char *openPmixPluginName = "divisiOpenPmixServer";

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_PMIXPLUGIN_H
