//===- Witness.h - Why a strategy need not be listed ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A problem stays smaller without strategies that another of the same node
// dominates for every choice of the other nodes: it costs no more, uses no more
// of any memory, and neither do edges with it at any state of their other end.
//
//   node      costs {9, 5, 7}   usages {4, 8, 8}
//   edge      [[0, 3],          2 costs 2 more than 1 by itself, and on the
//              [1, 0],          edge 0 or 4 more: 1 replaces 2, and no other
//              [1, 4]]          two are comparable
//
// A list of witnesses names each omitted strategy and its replacement in the
// complete problem, in which each witness can be checked. Then no assignment of
// that problem is cheaper than the best of the smaller one.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_WITNESS_H
#define DIVISI_SEARCH_WITNESS_H

#include "divisi/Search/Problem.h"

#include <span>

namespace divisi::search {

/// Of one node: strategy `pruned` may go, because `by` replaces it.
struct Witness {
  uint32_t node = 0;   ///< Of the problem that has both.
  uint32_t pruned = 0; ///< One of its strategies.
  uint32_t by = 0;     ///< Another.
  friend bool operator==(const Witness &, const Witness &) = default;
};

/// What is wrong with `witness`, or nothing: a node or strategy that there is
/// not, a strategy for itself, or a cost or usage of `by` that is above that of
/// `pruned`, by itself or on some edge at some state of the other end. What is
/// infeasible with `pruned` may be anything with `by`. Shares no code with
/// pruneDominated(). `problem` must be valid.
std::optional<std::string> checkWitness(const Problem &problem,
                                        const Witness &witness);

/// What is wrong with the first of `witnesses` that is wrong, or nothing: each
/// must be right by itself, and none may prune what is gone already or for what
/// is gone already, so that each chain of replacements ends at a strategy that
/// stays.
std::optional<std::string> checkWitnesses(const Problem &problem,
                                          std::span<const Witness> witnesses);

/// A problem without the strategies that others replace.
struct Pruned {
  Problem problem; ///< Valid, with a strategy of each node at least.
  /// Of the problem that had all, in the order in which strategies went.
  std::vector<Witness> witnesses;
  /// For each node and strategy of `problem`, its number in the one that had
  /// all.
  std::vector<std::vector<uint32_t>> kept;
};

/// Leaves out of a valid `problem` every strategy that another replaces; of
/// those that replace each other the first stays. Keeps nodes, edges and their
/// order.
Pruned pruneDominated(const Problem &problem);

} // namespace divisi::search

#endif // DIVISI_SEARCH_WITNESS_H
