//===- ReducedGraph.h - The graph after all reductions ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three things make the problem that solvers see smaller: deductions that
// merge nodes (Reduction.h), sums that make one table of parallel edges
// (MakeModel), and states that another one replaces (Dominance.h). Here is the
// way back.
//
//   problem  --deductions-->  whole  --dominance-->  core
//   nodes, strategies         variables, states      some of them
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_REDUCTION_REDUCEDGRAPH_H
#define DIVISI_LIB_SEARCH_REDUCTION_REDUCEDGRAPH_H

#include "Dominance.h"
#include "Reduction.h"
#include "lib/Search/Problem/MaximalTimes.h"

namespace divisi::search {

/// The graph that solvers work on, and the way back to the problem.
struct ReducedGraph {
  CostGraph whole;                  ///< Of all states that the deductions left.
  std::vector<Dominated> dominated; ///< In the order in which they went.
  /// For each variable and state of `whole`, the state that replaces it in the
  /// end: itself if it is not dominated.
  std::vector<std::vector<uint32_t>> standIn;
  SubGraph core; ///< Of `whole`, without them: what solvers work on.

  /// Of each variable of `whole`, in the program's order.
  std::vector<uint32_t> nodeOf;
  std::vector<int32_t> variableOf; ///< Of each node; -1 if it is fixed.
  std::vector<Moment> timeOf;      ///< Of each position in whole's capacity.
  /// The first time at which even the least usage exceeds the limit.
  std::optional<Moment> overfull;

  /// What solvers work on.
  const CostGraph &graph() const { return core.graph; }
};

/// The graph that is left by `reduction`, which emptied no variable.
ReducedGraph buildReducedGraph(const Problem &problem,
                               const Reduction &reduction);

/// The assignment of the problem's nodes, from one of the core.
std::vector<uint32_t> expand(const Reduction &reduction,
                             const ReducedGraph &reduced,
                             const Assignment &assignment);

/// The assignment of the core that gives the nodes these strategies, which must
/// be feasible, or the ones that replace them.
Assignment contract(const Reduction &reduction, const ReducedGraph &reduced,
                    const std::vector<uint32_t> &nodes);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_REDUCTION_REDUCEDGRAPH_H
