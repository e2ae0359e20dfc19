//===- RankGraph.h - What a device does of a run, as one --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To give a device its work one by one takes the host microseconds each, more
// than small kernels take. Where the device works alone between what the host
// does before and what it does behind, a run is recorded and then given as one:
//
//   run 1    before  [a] [b] [c] …  behind    one by one
//   run 2    before  recorded as a graph, which is run  behind
//   run 3    before  [graph]  behind
//
// A graph has the addresses that it was recorded with: inputs are copied to
// memory that stays, and outputs come from the arena. What a kernel allocates
// in its first run is there when it is recorded.
//
// Steps that devices do with each other are part of it where all ranks of the
// entry have a graph: whether a step is recorded is for all of its ranks
// together to say, and so is which run records it (Communicator::beginRun()).
// What such a graph waits for may never come, so the host has to see how far it
// is: when a step has ended, a byte of pinned memory is set, by a queue on
// which nothing waits:
//
//   compute        [a]        [b]        [c]
//   its queue         [step]     [step]
//   marker                 [1]        [1]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKGRAPH_H
#define DIVISI_RUNTIME_CORE_RANKGRAPH_H

#include "runtime/core/RankProgram.h"

namespace divisi::rt {

/// Which tasks of a program are one, and what they were recorded as.
struct RankGraph {
  /// Tasks in the order of the list: those that the host does before what the
  /// device does, these, and what the host does behind.
  std::vector<size_t> before, works, behind;
  /// Of each of `works`: the tasks on other queues that it waits for.
  std::vector<std::vector<size_t>> waits;
  Device *device = nullptr; ///< Who does them.
  /// From which others begin, and that ends last.
  DeviceQueue *queue = nullptr;
  /// In the order in which they begin, with their last tasks.
  std::vector<std::pair<DeviceQueue *, size_t>> others;
  std::unique_ptr<DeviceEvent> begun, ended;
  /// By input of the entry: what is pinned for it.
  std::map<uint32_t, std::unique_ptr<DeviceMemory>> inputs;
  std::vector<size_t> steps; ///< Of `works`, those with other devices.
  std::unique_ptr<DeviceQueue> marker;
  std::unique_ptr<DeviceEvent> marked; ///< All that is marked.
  std::unique_ptr<DeviceMemory> marks; ///< By step: whether it has ended.
  size_t past = 0; ///< Steps that have, in this run, in their order.
  /// Null until a run has recorded it, and again when a communicator ends that
  /// has a part in it.
  std::shared_ptr<std::unique_ptr<DeviceGraph>> graph;
  std::vector<const void *> addresses; ///< With which that was.
  std::vector<const void *> present;   ///< Those of this run.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKGRAPH_H
