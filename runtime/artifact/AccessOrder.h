//===- AccessOrder.h - Which accesses to bytes are ordered ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of its list a program is right (ArenaContents.h). Queues let
// instructions run earlier or at the same time; the program stays right if of
// any two that touch the same bytes, one of them writing, the later one begins
// when the earlier has ended:
//
//   0 call        compute              writes a
//   1 all_reduce  communicator, after 0     reads a, writes b
//   2 call        compute              writes over a     refused: must come
//                                                        after 1
//
// The bytes are those of the arena and of the globals that the program writes:
// who reads the old value of one ends before it is overwritten.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_ACCESSORDER_H
#define DIVISI_RUNTIME_ARTIFACT_ACCESSORDER_H

#include "runtime/artifact/QueueOrder.h"

namespace divisi::rt {

/// Bytes that an instruction reads or writes.
struct MemoryAccess {
  ResolvedProgram::Range range; ///< In the program's memory.
  bool writes = false;          ///< Else it reads.
};

/// See the file's head.
class AccessOrder {
public:
  /// Invalid if there is too much of it to be checked.
  Status begin(const ResolvedProgram &program,
               const artifact::Manifest &manifest);

  /// Follows the next instruction of the list. Invalid if it may run at the
  /// same time as one that it must come after.
  Status add(std::span<const MemoryAccess> accesses);

private:
  using Clock = QueueOrder::Clock;
  /// Bytes with the same history.
  struct Segment {
    int64_t end;
    int writer = -1; ///< The last.
    /// Since then; of those that are ordered only the last.
    std::vector<int> readers;
  };
  using Segments = std::map<int64_t, Segment>;

  Segments::iterator splitAt(int64_t byte);
  std::optional<int> findRace(const MemoryAccess &access, const Clock &before);
  void record(const MemoryAccess &access, const Clock &before);

  const artifact::Manifest *manifest_ = nullptr;
  const ResolvedProgram *resolved_ = nullptr;
  const artifact::Program *program_ = nullptr; ///< Of it.
  QueueOrder order_;
  Segments segments_; ///< By their first byte; all there are.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_ACCESSORDER_H
