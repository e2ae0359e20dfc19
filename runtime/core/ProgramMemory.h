//===- ProgramMemory.h - What the programs of a rank hold -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_PROGRAMMEMORY_H
#define DIVISI_RUNTIME_CORE_PROGRAMMEMORY_H

#include "divisi/runtime/core/RankMemory.h"
#include "runtime/artifact/ResolvedManifest.h"

#include <set>

namespace divisi::rt {

/// The bytes of packed constants by what tells one from another: before there
/// are any the global and the name of the form, later their address.
using PackedConstants = std::map<std::pair<uint64_t, std::string>, int64_t>;

/// What one program of a rank holds beside its arenas, in bytes.
struct ProgramMemory {
  /// By memory space, what the call that wants most wants beyond what the
  /// artifact plans for it; programs share it.
  std::vector<int64_t> workspaces;
  /// By memory space, of its collectives, where they want memory; programs
  /// share it.
  std::vector<int64_t> messages;
  int64_t staging = 0; ///< Slices of inputs.
  /// Constants in the layouts of kernels, each once.
  PackedConstants packed;
  /// What is in memory beside them while the one is made that wants most.
  int64_t packing = 0;
  /// The globals that a run reads where the host has them, by number.
  std::set<uint32_t> globals;
};

struct SpacePlan;

/// What programs use of a GPU.
struct GpuUse {
  std::set<uint32_t> codes;         ///< By number.
  std::set<uint32_t> communicators; ///< Queues of steps between devices.
};
/// Of those that were looked at.
using GpuUses = std::map<const ResolvedProgram *, GpuUse>;

/// What a GPU of the rank holds beside what `plan` says; nothing where it has
/// none. All communicators are counted as parts of one: one of them may be all
/// of that. What it learns of programs goes to `uses`.
GpuOverhead countOverhead(const ResolvedManifest &resolved, uint32_t rank,
                          const SpacePlan &plan, GpuUses &uses);
/// Lets the weights of `number` be those that programs read or update.
void countWeights(const ResolvedManifest &resolved, uint32_t number,
                  const std::set<uint32_t> &globals, RankMemory &rank);
/// What programs share: by memory space what the one that wants most wants, and
/// packed constants.
struct SharedMemory {
  std::vector<int64_t> workspaces, messages; ///< Bytes, by number of the space.
  PackedConstants packed;                    ///< Of all programs.
  /// While one of them is made, or a global is brought to a device.
  int64_t packing = 0;

  /// Raises each to what `program` wants, and adds what it alone has packed.
  void raise(const ProgramMemory &program);
};
/// Raises each of `most`, by memory space, to what there is of `own`.
void raiseEach(std::vector<int64_t> &most, const std::vector<int64_t> &own);
/// Adds what a program holds for itself: nothing of what programs share.
void addMemory(RankMemory &rank, const ProgramMemory &program);
/// Adds what they share.
void addShared(RankMemory &rank, const SharedMemory &shared);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_PROGRAMMEMORY_H
