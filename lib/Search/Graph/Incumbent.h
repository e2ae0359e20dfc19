//===- Incumbent.h - The best assignment so far -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_GRAPH_INCUMBENT_H
#define DIVISI_LIB_SEARCH_GRAPH_INCUMBENT_H

#include "CostGraph.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace divisi::search {

/// An assignment and what it costs.
struct Incumbent {
  Assignment assignment; ///< Empty if there is none.
  /// In the graph; infinite if there is none.
  double cost = std::numeric_limits<double>::infinity();
  /// Whether there is one.
  bool exists() const { return cost < std::numeric_limits<double>::infinity(); }
};

/// Bounds this near to `cost` close the gap: costs are integers, but floating
/// point sees only so many digits.
inline double toleranceOf(double cost) {
  double digits = 1e-9 * std::abs(cost);
  return std::max(1 - digits, digits);
}

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_GRAPH_INCUMBENT_H
