//===- Collectives.h - Costs of collectives ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Through memory: alpha-beta, with the rounds of recursive doubling. Over
// NVLink, PCIe and networks: the model by which NCCL chooses between rings,
// trees and switches and between its protocols (its tuning.cc), and groups of
// several nodes level by level, where that is cheaper.
//
// If a level of links has measured points, they map times of the model to
// measured times: a point maps the model's time of the measured
// collective. Every group that crosses that level is priced through the
// same map, so that prices rise with bytes and with members as those of
// the model do.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COST_COLLECTIVES_H
#define DIVISI_LIB_COST_COLLECTIVES_H

#include "divisi/Cluster/GridLinks.h"

#include <algorithm>

namespace divisi {

/// How NCCL sends: flags with 4 or 120 of 8 or 128 bytes of data, or none.
enum class Protocol : uint8_t { LL, LL128, Simple };

/// The time of one collective of a group that reaches so far, in nanoseconds.
/// `bytes` are those of the whole tensor: what an all-reduce starts with, what
/// an all-gather ends with, what a reduce-scatter starts with, and what a
/// member of an all-to-all starts with.
double collectiveNanoseconds(Collective collective, double bytes,
                             const Reach &reach,
                             llvm::ArrayRef<LinkLevel> levels);

/// The same as the model alone says, whatever was measured.
double modelNanoseconds(Collective collective, double bytes, const Reach &reach,
                        llvm::ArrayRef<LinkLevel> levels);

/// The model's time if a group of several units goes level by level.
double nestedNanoseconds(Collective collective, double bytes,
                         const Reach &reach, llvm::ArrayRef<LinkLevel> levels);

/// What it takes a member to get messages from others.
struct MessageCost {
  double first = 0;       ///< Nanoseconds, if there is any message.
  double perMessage = 0;  ///< Nanoseconds.
  double perByte = 0;     ///< Nanoseconds, of all senders together.
  double perPeerByte = 0; ///< Nanoseconds, of one sender.

  /// The time for `messages`, together `bytes`, in nanoseconds.
  double of(double messages, double bytes) const {
    return messages > 0 ? first + messages * perMessage +
                              bytes * std::max(perByte, perPeerByte / messages)
                        : bytes * perByte;
  }
};

/// Of a group that reaches so far.
MessageCost messageCost(const Reach &reach, llvm::ArrayRef<LinkLevel> levels);

/// NCCL's latency of a ring over `reach`, in nanoseconds. Twice through for an
/// all-reduce.
double ringLatency(Collective collective, Protocol protocol, const Reach &reach,
                   llvm::ArrayRef<LinkLevel> levels);

/// NCCL's latency of an all-reduce up and down a tree, in nanoseconds.
double treeLatency(Protocol protocol, const Reach &reach,
                   llvm::ArrayRef<LinkLevel> levels);

} // namespace divisi

#endif // DIVISI_LIB_COST_COLLECTIVES_H
