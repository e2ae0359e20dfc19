//===- Branches.h - Candidates for the split of a node ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At the best prices of a node some variables waver: roundings take now one
// state of them, now another. These are worth splitting, but which of them? One
// may carry much memory and, split alone, only hand its choice to its equals in
// other layers. Another carries none, and decides for a hundred neighbours. So
// here are the first few by each of several scores; the solver tries them out.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_BRANCHING_BRANCHES_H
#define DIVISI_LIB_SEARCH_BRANCHING_BRANCHES_H

#include "lib/Search/Dual/Messages.h"
#include "lib/Search/Graph/SubGraph.h"

namespace divisi::search {

/// One child keeps these states of the variable, of the whole graph; the other
/// child keeps the rest.
struct Branch {
  uint32_t variable = 0;      ///< Of the whole graph.
  std::vector<uint32_t> kept; ///< Sorted; neither none nor all.
  friend bool operator==(const Branch &, const Branch &) = default;
};

/// Gathers roundings of a node and proposes branches from them.
class Branches {
public:
  /// `sub` must outlive this. `prices` are those of its times.
  Branches(const SubGraph &sub, const std::vector<double> &prices);

  /// Counts a rounding.
  void add(const Assignment &taken);

  /// The most promising ones by each score, most promising first and no two
  /// equal: by how much the cost of memory varies, by how much the neighbours'
  /// choices depend on it, by the number of neighbours; and the variable whose
  /// two best states differ least in `messages`, so that there always is one.
  std::vector<Branch> choose(const Messages &messages) const;

private:
  /// How often a variable took a state.
  struct Count {
    uint32_t state = 0, times = 0;
  };
  struct Scored {
    double score = 0;
    Branch branch;
  };

  double memoryCost(uint32_t v, uint32_t state) const;
  double dependence(uint32_t v, uint32_t state, uint32_t other) const;
  Branch leastDecided(const Messages &messages) const;
  Branch cheaperHalf(uint32_t v, double mean) const;

  const SubGraph &sub_;
  std::vector<double> prices_; ///< Prefix sums.
  std::vector<std::vector<Count>> counts_;
  uint32_t roundings_ = 0;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_BRANCHING_BRANCHES_H
