//===- Solvers.h - Solvers of the planning problem --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every solver is one free function of a problem and options. Its budget is
// work, not time: the same problem, options and seed give the same answer.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_SOLVERS_H
#define DIVISI_SEARCH_SOLVERS_H

#include "divisi/Search/Problem.h"

namespace divisi::search {

struct Options {
  uint64_t seed = 0;
  /// How many matrix entries may be looked at: 1e9 are about a second. At
  /// least one assignment is found whatever the budget.
  int64_t work = 6'000'000'000;
};

enum class Status : uint8_t {
  Solved,     ///< `solution` is within the limit.
  Infeasible, ///< Proved: no assignment exists. `message` says why.
  NotFound,   ///< None was found, which proves nothing.
};

struct Outcome {
  Status status = Status::NotFound;
  Solution solution; ///< If solved.
  /// If not: what binds, at which time, and how many bytes are missing when
  /// every node takes the strategy of least memory.
  std::string message;
  std::optional<int64_t> time; ///< The time that binds, if infeasible.
  int64_t work = 0;            ///< Matrix entries looked at.
};

/// Chains and trees of nodes are solved exactly by dynamic programming, given
/// the rest; other trees follow until none improves (block coordinate descent,
/// started from message passing and from seeded random assignments). A memory
/// limit is priced with Lagrange multipliers, and what still exceeds it is
/// repaired greedily. `problem` must be valid.
Outcome solveChains(const Problem &problem, const Options &options = {});

} // namespace divisi::search

#endif // DIVISI_SEARCH_SOLVERS_H
