//===- Team.h - The threads of one call -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN's threads and ours are those of libgomp. Between calls they wait
// awake, for milliseconds, or for a microsecond and then asleep, from where
// they come back in some thirty. Which of the two libgomp decides by a count:
// it has more threads than there are cores, or not. No function changes that,
// only the environment that it reads when it is loaded, which is not ours.
//
// Awake is right as long as nobody else wants the cores: else the waiting take
// them from those for whom they wait, and a model takes several times as long.
// So there is one thread more than cores, asleep, while there are more teams
// than cores, or whoever begins a team has long lacked a core of its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_TEAM_H
#define DIVISI_RUNTIME_BACKENDS_CPU_TEAM_H

namespace divisi::rt::cpu {

/// Sets the calling thread's team size while it lives: oneDNN asks OpenMP for
/// it when a primitive is made and again when it runs, and the two must agree.
/// All teams of a thread have one size, since OpenMP ends and makes threads
/// where it changes.
class TeamSize {
public:
  /// At least 1; undone when it is destroyed.
  explicit TeamSize(int threads);
  ~TeamSize();
  TeamSize(const TeamSize &) = delete;

private:
  int threads_, before_;
  bool counts_; ///< As a team at work; not one within another.
};

/// The team that a call of so many operations is worth: `threads`, or one where
/// waking others takes longer than the work.
int teamFor(int threads, double operations);

/// Whether the threads of this process wait asleep, not awake.
bool areTeamsAsleep();

/// Calls body(context, i) for every i below `count`, by a team of `threads`.
void forEach(int threads, int count, void (*body)(void *context, int i),
             void *context);

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_TEAM_H
