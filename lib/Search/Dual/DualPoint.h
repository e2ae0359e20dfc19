//===- DualPoint.h - Prices and messages that give a bound ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_DUAL_DUALPOINT_H
#define DIVISI_LIB_SEARCH_DUAL_DUALPOINT_H

#include "lib/Search/Graph/SubGraph.h"

#include <limits>
#include <vector>

namespace divisi::search {

/// A point of the dual: its bound holds for the graph that it was made for,
/// and for every graph with fewer states.
struct DualPoint {
  double bound =
      -std::numeric_limits<double>::infinity(); ///< No assignment costs less.
  std::vector<double> prices;  ///< One for each position of capacity.
  std::vector<float> messages; ///< As Messages::save() leaves them.
};

/// The point that `whole`, of `graph`, gives its part `sub`: prices go to the
/// next time that is left.
DualPoint lower(const CostGraph &graph, const SubGraph &sub,
                const DualPoint &whole);
/// `base`, of `graph`, with what `part` says of its part `sub`.
DualPoint lift(const CostGraph &graph, const SubGraph &sub,
               const DualPoint &part, DualPoint base);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_DUAL_DUALPOINT_H
