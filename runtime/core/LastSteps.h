//===- LastSteps.h - What a rank did with others last -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank notes when it comes to a step and when that is done, always: two
// looks at a clock for what takes microseconds. When a run has failed, the last
// of these notes say who was where.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CORE_LASTSTEPS_H
#define DIVISI_RUNTIME_CORE_LASTSTEPS_H

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace divisi::rt {

/// A ring of notes. One thread writes it, any may read it.
class LastSteps {
public:
  /// How many are kept.
  static constexpr uint64_t most = 64;
  /// The instruction of the step that ends an entry.
  static constexpr uint32_t endOfEntry = UINT32_MAX >> 1;

  /// A step that was begun or ended.
  struct Note {
    uint64_t run = 0;         ///< Runs of the session before it.
    uint32_t entry = 0;       ///< Whose program, ...
    uint32_t instruction = 0; ///< ... and where in it.
    bool isDone = false;      ///< Else the rank has come to it.
    int64_t time = 0;         ///< As steadyNanoseconds() counts.
  };

  /// A run begins.
  void beginRun() { run_.fetch_add(1, std::memory_order_relaxed); }
  /// Forgets the oldest note for this one, which is of the present run.
  void note(uint32_t entry, size_t instruction, bool isDone, int64_t time);
  /// The notes of the last steps, the oldest first; those that may be written
  /// just now are not among them.
  std::vector<Note> notes() const;

private:
  /// Numbers of a note: run, place and whether it is done, time.
  using Slot = std::array<std::atomic<uint64_t>, 3>;

  std::array<Slot, most> slots_{};
  std::atomic<uint64_t> count_ = 0; ///< Of all notes.
  std::atomic<uint64_t> run_ = 0;   ///< Runs that have begun.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CORE_LASTSTEPS_H
