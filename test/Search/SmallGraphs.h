//===- SmallGraphs.h - Graphs written by hand -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_SMALLGRAPHS_H
#define DIVISI_TEST_SEARCH_SMALLGRAPHS_H

#include "lib/Search/Graph/CostGraph.h"

namespace divisi::search {

/// A variable of these costs that uses memory, if any, at the first time.
inline Variable makeVariable(std::vector<double> costs,
                             std::vector<double> usages = {}) {
  Variable variable{std::move(costs), {}};
  if (!usages.empty()) {
    variable.usages.push_back({0, 1, SharedNumbers(std::move(usages))});
  }
  return variable;
}

/// Joins two variables, the first before the second.
inline void join(CostGraph &graph, uint32_t first, uint32_t second,
                 const std::vector<std::vector<double>> &costs) {
  auto table = std::make_shared<Table>();
  table->rows = uint32_t(costs.size());
  table->columns = uint32_t(costs[0].size());
  for (const std::vector<double> &row : costs) {
    table->exact.insert(table->exact.end(), row.begin(), row.end());
  }
  table->round();
  graph.pairs.push_back({first, second, table, {}});
}

/// Two variables, of which only the first uses memory.
inline CostGraph makePair(std::vector<double> first, std::vector<double> usages,
                          const std::vector<std::vector<double>> &costs,
                          std::vector<double> second) {
  CostGraph graph;
  graph.variables = {makeVariable(std::move(first), std::move(usages)),
                     makeVariable(std::move(second))};
  graph.capacity = {1};
  join(graph, 0, 1, costs);
  graph.index();
  return graph;
}

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_SMALLGRAPHS_H
