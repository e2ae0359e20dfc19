//===- HostExchange.h - What servers of hosts tell each other ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PMIX_HOSTEXCHANGE_H
#define DIVISI_RUNTIME_COMM_PMIX_HOSTEXCHANGE_H

#include "runtime/comm/pmix/Rendezvous.h"

#include <memory>

namespace divisi::rt {

/// The servers of the hosts of a run, which meet at the first host's: at the
/// address and behind the port that torchrun gives to all (MASTER_ADDR and
/// MASTER_PORT, at which its own store listens).
class HostExchange {
public:
  /// For host `self` of `count`, which all have `limit` to come. The first one
  /// starts a thread that hears and answers all for as long as the process
  /// lives. Fails with Usage if the address is none or in use, with Device if
  /// the first host does not come.
  static Expected<std::unique_ptr<HostExchange>>
  open(uint32_t self, uint32_t count, std::chrono::milliseconds limit);

  /// What the servers of all hosts say, by host, one behind the other. All call
  /// it equally often. Fails with Device if one has not come in time, or ends.
  Expected<std::string> exchange(const std::string &own);

private:
  explicit HostExchange(Channel channel) : channel_(std::move(channel)) {}

  Channel channel_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_HOSTEXCHANGE_H
