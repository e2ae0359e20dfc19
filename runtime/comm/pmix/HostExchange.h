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
/// MASTER_PORT, at which its own store listens). The first host hears all and
/// answers each with what all have said, while it says something itself.
class HostExchange {
public:
  /// For host `self` of `count`, which all have `limit` to come, and which know
  /// each other by `secret`. Fails with Usage if the address is none or in use
  /// or hosts have different keys, with Invalid if they have different
  /// artifacts, with Device if the first host does not come.
  static Expected<std::unique_ptr<HostExchange>>
  open(uint32_t self, uint32_t count, std::chrono::milliseconds limit,
       HostSecret secret);

  /// What the servers of all hosts say, by host, one behind the other. All call
  /// it equally often, by one thread at a time. Fails with Device if one says
  /// more than maxHostText bytes, has not come in time, or ends.
  Expected<std::string> exchange(const std::string &own);

private:
  HostExchange(uint32_t count, std::chrono::milliseconds limit)
      : count_(count), limit_(limit) {}
  Status openFirst(const SocketAddress &address, HostSecret secret);
  Status connect(const std::vector<SocketAddress> &addresses, uint32_t self,
                 const HostSecret &secret);
  Expected<std::string> relay(const std::string &own);

  uint32_t count_;
  std::chrono::milliseconds limit_;
  std::optional<Rendezvous> meeting_; ///< Of the first host.
  Channel channel_;                   ///< Of each other one.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_HOSTEXCHANGE_H
