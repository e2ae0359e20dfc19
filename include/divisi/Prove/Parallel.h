//===- Parallel.h - Work in child processes ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROVE_PARALLEL_H
#define DIVISI_PROVE_PARALLEL_H

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace divisi::rewrite {

/// What came of a piece of work.
struct Piece {
  std::optional<std::string> text; ///< Nothing if its process did not end well.
  bool isLate = false;             ///< It was killed.
  double seconds = 0;              ///< That it took.
};

/// How pieces of work are done.
struct PieceLimits {
  size_t most = 1;                                          ///< At once.
  double seconds = std::numeric_limits<double>::infinity(); ///< Of each.
};

/// Does `count` pieces of work, each in a process that begins as a copy of this
/// one and is killed when its time is up. The first that is not begun yet is
/// next, whoever has ended; `done` gets all in their order, in this process, as
/// soon as those before are there. The caller has no other threads.
void runInProcesses(size_t count, const PieceLimits &limits,
                    const std::function<std::string(size_t)> &work,
                    const std::function<void(size_t, const Piece &)> &done);

} // namespace divisi::rewrite

#endif // DIVISI_PROVE_PARALLEL_H
