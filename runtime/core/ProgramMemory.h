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

/// What one program of a rank holds beside its arenas, in bytes.
struct ProgramMemory {
  /// By memory space, what the call that wants most wants beyond what the
  /// artifact plans for it; programs share it.
  std::vector<int64_t> workspaces;
  /// By memory space, of its collectives, where they want memory; programs
  /// share it.
  std::vector<int64_t> messages;
  int64_t staging = 0; ///< Slices of inputs.
  int64_t packed = 0;  ///< Constants.
  /// The globals that a run reads where the host has them, by number.
  std::set<uint32_t> globals;
};

/// Weights and arenas of every rank, as the manifest plans them.
std::vector<RankMemory> plannedMemory(const ResolvedManifest &resolved);
/// Lets the weights of `number` be those that programs read or update.
void countWeights(const ResolvedManifest &resolved, uint32_t number,
                  const std::set<uint32_t> &globals, RankMemory &rank);
/// By memory space, what the program that wants most wants of what all share.
struct SharedMemory {
  std::vector<int64_t> workspaces, messages; ///< Bytes, by number of the space.

  /// Raises each to what `program` wants.
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
