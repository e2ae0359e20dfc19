//===- DelayedSession.h - Artifacts on a slow network -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the programs share that run an artifact beside one of the same model in
// another order.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_CORE_DELAYEDSESSION_H
#define DIVISI_TEST_RUNTIME_CORE_DELAYEDSESSION_H

#include "divisi/runtime/core/Session.h"
#include "test/runtime/comm/DelayedCommunicator.h"

namespace divisi::rt {

/// A loaded artifact, all ranks of which meet on a network of its own.
struct DelayedSession {
  std::shared_ptr<DelayedCommunicator> network; ///< Not slow at first.
  std::unique_ptr<Session> session;

  /// Fails as Session::open does, and with Invalid where the session holds
  /// other memory than the artifact was said to need.
  static Expected<DelayedSession> open(const std::string &path,
                                       std::vector<const Backend *> backends);
};

/// Inputs for `entry`: floats of -1 to 1, integers 0 and 1, drawn from `seed`.
Expected<std::vector<HostTensor>> drawInputs(const EntryInfo &entry,
                                             uint64_t seed);

/// Invalid unless both have the same bits; `what` names them.
Status compareBits(const std::string &what, std::span<const HostTensor> got,
                   std::span<const HostTensor> want);

/// The same of the globals that runs have updated.
Status compareState(const Session &got, const Session &want);

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_CORE_DELAYEDSESSION_H
