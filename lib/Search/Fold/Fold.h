//===- Fold.h - Variables that are alike decide as one ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of 96 blocks has 96 copies of each variable. Where all copies take
// the same state they are one variable, which costs what they cost together and
// uses memory whenever one of them does; parallel pairs are one pair:
//
//   a0 - b0 - a1 - b1 - a2 - b2        a = b      a: 3 costs, a-b: 3 tables,
//                                                 b-a: 2 tables, transposed
//
// What the folded graph allows is an assignment of the whole, so its answers
// are answers. Its bound is none of the whole; but its point of the dual, with
// each potential divided among the pairs that share it, is one of the whole,
// and as good where the copies are alike. At the ends of a chain, and where
// prices of memory differ from copy to copy, they are not quite.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FOLD_FOLD_H
#define DIVISI_LIB_SEARCH_FOLD_FOLD_H

#include "lib/Search/Dual/Potentials.h"
#include "lib/Search/Reduction/ReducedGraph.h"

#include "divisi/Search/Solvers.h"

namespace divisi::search {

/// For each variable of the core the class of those that are tied to it,
/// numbered in their order: those whose states stand for the same strategies of
/// nodes that are tied. Every variable for itself if `ties` are empty.
std::vector<uint32_t> classesOf(const Ties &ties, const Reduction &reduction,
                                const ReducedGraph &reduced);

/// How many entries the tables of a fold of `whole` have.
int64_t foldedEntries(const CostGraph &whole,
                      const std::vector<uint32_t> &classOf);

/// A graph with one variable for each class of another.
class Fold {
public:
  /// Variables of a class have equally many states. `whole` must outlive this.
  Fold(const CostGraph &whole, std::vector<uint32_t> classOf);

  /// The folded graph; its positions of capacity are those of the whole.
  const CostGraph &graph() const { return graph_; }
  /// An assignment of the whole.
  Assignment unfold(const Assignment &assignment) const;
  /// Potentials of the whole.
  Potentials unfold(const Potentials &potentials) const;

private:
  /// Where a pair of the whole lies in the folded graph.
  struct Place {
    uint32_t pair = 0;    ///< Of the folded graph.
    bool swapped = false; ///< Its first variable is the pair's second.
    bool inside = false;  ///< Both ends are of one class: there is no pair.
  };
  void addVariables();
  void placePairs();
  void addInside(const Pair &pair);
  void addPairs();

  const CostGraph &whole_;
  std::vector<uint32_t> classOf_;
  CostGraph graph_;
  std::vector<Place> places_; ///< Of each pair of the whole.
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FOLD_FOLD_H
