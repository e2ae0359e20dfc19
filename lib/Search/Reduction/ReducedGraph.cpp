//===- ReducedGraph.cpp - The graph after all reductions ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReducedGraph.h"

#include <algorithm>

namespace divisi::search {

std::vector<uint32_t> expand(const Reduction &reduction,
                             const ReducedGraph &reduced,
                             const Assignment &assignment) {
  Assignment whole = reduced.core.expand(assignment);
  std::vector<uint32_t> nodes(reduction.variableOf.size());
  for (size_t i = 0; i != nodes.size(); ++i) {
    int32_t variable = reduced.variableOf[reduction.variableOf[i]];
    nodes[i] = reduction.strategies[i][variable < 0 ? 0 : whole[variable]];
  }
  return nodes;
}

/// A dominated state becomes the one that replaces it.
Assignment contract(const Reduction &reduction, const ReducedGraph &reduced,
                    const std::vector<uint32_t> &nodes) {
  auto position = [](const std::vector<uint32_t> &list, uint32_t entry) {
    return uint32_t(std::ranges::lower_bound(list, entry) - list.begin());
  };
  Assignment assignment;
  for (size_t v = 0; v != reduced.core.variableOf.size(); ++v) {
    uint32_t variable = reduced.core.variableOf[v];
    uint32_t root = reduced.nodeOf[variable];
    uint32_t state = position(reduction.states[root], nodes[root]);
    assignment.push_back(
        position(reduced.core.states[v], reduced.standIn[variable][state]));
  }
  return assignment;
}

} // namespace divisi::search
