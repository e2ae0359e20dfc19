//===- Dominance.h - States that another one replaces -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is dominated by another of its variable that never uses more memory,
// and costs no more whatever the neighbours do:
//
//   cost(s) - cost(r) + sum over pairs of min over t of
//                       (table(s, t) - table(r, t))  >=  0
//
// so that r may take the place of s in every assignment. This is dead-end
// elimination (R. F. Goldstein, "Efficient rotamer elimination applied to
// protein side-chains and related spin glasses", Biophysical Journal 66(5),
// 1994) with memory. What the neighbours have lost need not be looked at, so
// one state that goes lets others go.
//
// A certificate bounds the dominated states too. With r's potential, plus a
// shift of the minimum above, s raises no term and lowers none: the bound
// without s is one with s.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_REDUCTION_DOMINANCE_H
#define DIVISI_LIB_SEARCH_REDUCTION_DOMINANCE_H

#include "lib/Search/Graph/SubGraph.h"

namespace divisi::search {

/// A state that has gone because another may replace it.
struct Dominated {
  uint32_t variable = 0, state = 0; ///< Of the graph.
  uint32_t by = 0; ///< A state that was there when this one went.
  /// For each of CostGraph::pairsOf of the variable, the minimum above.
  std::vector<double> shifts;
};

/// Removes dominated states from `domains`, which are arc consistent and stay
/// so, until none is left or a fixed amount of work is done. Returns them in
/// the order in which they went.
std::vector<Dominated> removeDominated(const CostGraph &graph,
                                       Domains &domains);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_REDUCTION_DOMINANCE_H
