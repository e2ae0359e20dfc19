//===- Crossover.h - One answer first, another from then on -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of equal layers has a limit of memory between what all of them take
// in one way and what they take in another. The best is then some layers in
// one way and the others in the other, and the fewest borders between the two.
// Roundings at the best prices are of the one and of the other kind; single
// layers that change pay two borders. So two assignments are crossed at every
// variable in the program's order (one-point crossover: J. Holland, "Adaptation
// in Natural and Artificial Systems", 1975):
//
//   fits, dear             a a a a a a
//   too large, cheap       b b b b b b
//   as much as there is    b b b b a a
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_NEIGHBOURHOODS_CROSSOVER_H
#define DIVISI_LIB_SEARCH_NEIGHBOURHOODS_CROSSOVER_H

#include "lib/Search/Graph/Incumbent.h"

#include <deque>

namespace divisi::search {

/// Crosses assignments that it is shown with those of before.
class Crossover {
public:
  /// `graph` must outlive this.
  explicit Crossover(const CostGraph &graph)
      : graph_(&graph),
        workOfLook_(int64_t(graph.variables.size() + graph.pairs.size() +
                            graph.capacity.size())) {}

  /// A part of `work`, which others did, may be spent here.
  void allow(int64_t work) { allowed_ += work / kPart; }

  /// Crosses `parent` with earlier ones of which one fits and the other does
  /// not, if there is work left for it, and makes the cheapest that fits
  /// `best`, if it is cheaper, as the parent itself may be. Returns the work,
  /// in entries of tables.
  int64_t add(const Assignment &parent, Incumbent &best);

private:
  static constexpr int64_t kPart = 8;

  void cross(const Assignment &head, const Assignment &tail, bool headFits,
             Incumbent &best);

  const CostGraph *graph_;
  std::deque<Assignment> fitting_, exceeding_; ///< The last few of each.
  int64_t workOfLook_;                         ///< At one assignment.
  int64_t work_ = 0, allowed_ = 0;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_NEIGHBOURHOODS_CROSSOVER_H
