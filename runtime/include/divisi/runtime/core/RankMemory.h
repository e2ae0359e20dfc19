//===- RankMemory.h - The memory of a rank ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One sum, known before anything is loaded: the compiler compares it with the
// memory limit, and a session holds just that. Beside it a process has its
// code, what libraries keep for themselves, the inputs and outputs of the
// caller, and programs: some 2.5 KB for each instruction, which is 9 MB of an
// LSTM of 260 steps.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_RANKMEMORY_H
#define DIVISI_RUNTIME_CORE_RANKMEMORY_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/device/GpuOverhead.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <map>
#include <span>
#include <vector>

namespace divisi::artifact {
class Manifest;
} // namespace divisi::artifact

namespace divisi::rt {

/// Bytes of one rank, the largest of all entries where they share them.
struct RankMemory {
  /// Its boxes of the globals that it reads or updates; not
  /// of those that kernels have packed and nobody else reads. Ranks of one
  /// process share equal boxes; each is counted as if it were alone.
  int64_t weights = 0;
  /// Of the largest program, with the scratch that the artifact plans.
  int64_t arena = 0;
  /// Scratch that kernels want beyond that, slices of inputs.
  int64_t workspace = 0;
  int64_t packed = 0; ///< Constants in the layouts of kernels.
  /// What collectives pack, or receive to combine it, where ranks are connected
  /// by messages.
  int64_t messages = 0;
  /// In memory spaces of devices: arenas, scratch, copies of globals, and what
  /// collectives pack there. Sessions may share copies; each is counted as if
  /// it were alone.
  int64_t device = 0;
  /// What GPUs hold beside that. Nothing of it is asked for by the rank.
  GpuOverhead overhead = {};

  /// All of it that the rank has asked for.
  int64_t total() const {
    return weights + arena + workspace + packed + messages + device;
  }
  /// What lies in the host's memory beside that of devices.
  int64_t host() const { return device > 0 ? total() - device : 0; }
  /// What a limit for devices is compared with: what lies in memory of their
  /// own, if something does; the host has its own limits.
  int64_t limited() const {
    return device > 0 ? device + overhead.total() : total();
  }
  friend bool operator==(const RankMemory &, const RankMemory &) = default;
};

/// What a run of an entry does to a rank's boxes of globals, in bytes.
struct StateBytes {
  int64_t inPlace = 0; ///< Of boxes that calls and collectives write.
  int64_t copied = 0;  ///< New values that were computed elsewhere.

  friend bool operator==(const StateBytes &, const StateBytes &) = default;
};

/// What a run of an entry copies from one memory space of a rank to another:
/// what it costs that not all kernels are for the same.
struct SpaceCopies {
  int64_t copies = 0; ///< How many instructions.
  int64_t bytes = 0;  ///< That they copy.

  friend bool operator==(const SpaceCopies &, const SpaceCopies &) = default;
};

/// What a run of an entry does to a rank's part of the outputs, in bytes.
struct OutputBytes {
  int64_t inPlace = 0; ///< Computed where the caller has them.
  int64_t copied = 0;  ///< Computed in the arena.

  friend bool operator==(const OutputBytes &, const OutputBytes &) = default;
};

/// What a rank does in the collectives of one kind in a run of an entry; of a
/// loop, in one iteration.
struct CollectiveUse {
  int64_t steps = 0;  ///< In which it has a part.
  int64_t bytes = 0;  ///< That it gives to others, each time that it does.
  int64_t queued = 0; ///< Of the steps, those that devices do.

  friend bool operator==(const CollectiveUse &,
                         const CollectiveUse &) = default;
};
/// By kind: `all_reduce`, `transfer`.
using CollectiveUses = std::map<std::string, CollectiveUse>;

/// What each rank of a session of `manifest` will hold when it prefers
/// `backends` and kernels have `threads` threads: kernels are chosen and asked
/// as on loading, and none is prepared. Messages are counted as if each rank
/// had a process of its own. Of calls in a memory space that no backend is for,
/// no kernel is asked: they want no scratch and pack nothing; without backends
/// only weights and arenas are counted. Invalid or Unsupported as
/// Session::open.
Expected<std::vector<RankMemory>>
predictMemory(const artifact::Manifest &manifest,
              std::span<const Backend *const> backends, int threads = 1);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_RANKMEMORY_H
