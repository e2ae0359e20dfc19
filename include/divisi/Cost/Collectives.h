//===- Collectives.h - What collectives take --------------------*- C++ -*-===//
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
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_COLLECTIVES_H
#define DIVISI_COST_COLLECTIVES_H

#include "divisi/Cluster/GridLinks.h"

namespace divisi {

/// What a group does together.
enum class Collective : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll
};

/// How NCCL sends: flags with 4 or 120 of 8 or 128 bytes of data, or none.
enum class Protocol : uint8_t { LL, LL128, Simple };

/// The time of one collective of a group that reaches so far, in nanoseconds.
/// `bytes` are those of the whole tensor: what an all-reduce starts with, what
/// an all-gather ends with, what a reduce-scatter starts with, and what a
/// member of an all-to-all starts with.
double collectiveNanoseconds(Collective collective, double bytes,
                             const Reach &reach,
                             llvm::ArrayRef<LinkLevel> levels);

/// What it takes a member to get messages from others.
struct MessageCost {
  double first = 0;      ///< Nanoseconds, if there is any message.
  double perMessage = 0; ///< Nanoseconds.
  double perByte = 0;    ///< Nanoseconds.

  /// The time for `messages`, together `bytes`, in nanoseconds.
  double of(double messages, double bytes) const {
    return (messages > 0 ? first + messages * perMessage : 0) + bytes * perByte;
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

#endif // DIVISI_COST_COLLECTIVES_H
