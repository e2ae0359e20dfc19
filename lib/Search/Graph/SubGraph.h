//===- SubGraph.h - A part of a graph, the rest held fixed ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_GRAPH_SUBGRAPH_H
#define DIVISI_LIB_SEARCH_GRAPH_SUBGRAPH_H

#include "CostGraph.h"

#include <optional>

namespace divisi::search {

/// States that each variable may take, sorted; one state: it is fixed.
class Domains {
public:
  /// All states of all variables.
  explicit Domains(const CostGraph &graph);
  /// Only what `assignment` takes.
  explicit Domains(const Assignment &assignment);

  std::span<const uint32_t> operator[](uint32_t variable) const {
    return states_[variable];
  }
  /// The number of variables.
  size_t size() const { return states_.size(); }
  /// Replaces the states of a variable by `states`, which are sorted.
  void set(uint32_t variable, std::vector<uint32_t> states) {
    states_[variable] = std::move(states);
  }

private:
  std::vector<std::vector<uint32_t>> states_;
};

/// Where a part lies in its parent.
struct Embedding {
  std::vector<uint32_t> variableOf; ///< In the parent, of each variable.
  std::vector<std::vector<uint32_t>> states; ///< In the parent.
  Assignment fixed;                          ///< Of the parent's variables.
  std::vector<uint32_t> pairOf;              ///< In the parent, of each pair.
  std::vector<uint32_t> timeOf; ///< In the parent, of each position.

  /// The parent's assignment.
  Assignment expand(const Assignment &assignment) const;
};

/// Where a part of `outer`'s part lies in `outer`'s parent.
Embedding compose(const Embedding &outer, const Embedding &inner);

/// A graph of the variables that have more than one state left.
struct SubGraph : Embedding {
  /// Of those variables; times that cannot bind there are gone.
  CostGraph graph;
  bool infeasible = false; ///< A domain became empty, or memory is short.
  /// Where even the least usages exceed the capacity (in the parent), and by
  /// how much; unset if a domain became empty.
  std::optional<uint32_t> shortAt;
  double shortage = 0;
};

/// Restricts `graph`, after making `domains` arc consistent. Shares tables that
/// stay whole.
SubGraph restrict(const CostGraph &graph, Domains domains);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_GRAPH_SUBGRAPH_H
