//===- Reduction.h - Merges nodes that decide together ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In real programs most edges only say which strategies fit each other: an
// elementwise operator must be split as its input is. Such an edge is a
// permutation matrix of infeasible pairs, and its two nodes are one variable:
//
//   x {rep, m, n}                               {x, relu, y} {rep, m, n}
//    | rep-rep m-m n-n                     =>      |
//   relu {rep, m, n}                            matmul {…}
//    | rep-rep m-m n-n
//   y {rep, m, n} --- matmul {…}
//
// Nothing is lost: every step is one of those that Certificate.h lists, and is
// recorded, so that bounds of what is left are bounds of the whole.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_REDUCTION_REDUCTION_H
#define DIVISI_LIB_SEARCH_REDUCTION_REDUCTION_H

#include "divisi/Search/Problem.h"

namespace divisi::search {

/// What deductions have made of a problem: variables and their states.
struct Reduction {
  std::vector<Deduction> deductions; ///< In the order in which they were made.
  /// For each node, the node by which its variable is called.
  std::vector<uint32_t> variableOf;
  /// For each node that is a variable, its states, sorted; empty for others.
  std::vector<std::vector<uint32_t>> states;
  /// For each node, its strategy at each of its variable's states, in order.
  std::vector<std::vector<uint32_t>> strategies;
  /// A variable that lost all states: nothing is feasible, whatever the limit.
  std::optional<uint32_t> emptied;
};

/// Arc consistency and contraction of edges on which each state of one end has
/// at most one partner, to a fixpoint (the closure of A. Mackworth's AC-3,
/// "Consistency in networks of relations", 1977, with substitution).
Reduction reduce(const Problem &problem);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_REDUCTION_REDUCTION_H
