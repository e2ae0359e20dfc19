//===- Problem.cpp - The planning problem, as plain data ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Problem.h"

#include <algorithm>
#include <map>

namespace divisi::search {

static std::optional<std::string> validateInterval(Lifetime live) {
  if (live.begin < 0) {
    return "lives from " + std::to_string(live.begin) + ", below zero";
  }
  if (live.end < live.begin) {
    return "lives until " + std::to_string(live.end) +
           ", before it begins at " + std::to_string(live.begin);
  }
  return std::nullopt;
}

static std::optional<std::string>
validateCosts(const std::vector<int64_t> &costs) {
  for (int64_t cost : costs) {
    if (cost <= -kInfeasible) {
      return "has a cost of " + std::to_string(cost) + ", expected it above " +
             std::to_string(-kInfeasible);
    }
  }
  return std::nullopt;
}

static std::optional<std::string> validateNode(const Node &node) {
  if (node.costs.empty()) {
    return "has no strategy";
  }
  if (node.usages.size() != node.costs.size()) {
    return "has " + std::to_string(node.costs.size()) + " costs but " +
           std::to_string(node.usages.size()) + " usages";
  }
  if (!node.strategies.empty() && node.strategies.size() != node.costs.size()) {
    return "has " + std::to_string(node.costs.size()) + " costs but " +
           std::to_string(node.strategies.size()) + " names of strategies";
  }
  if (auto error = validateInterval(node.live)) {
    return error;
  }
  if (std::ranges::any_of(node.usages, [](int64_t use) { return use < 0; })) {
    return "has a usage below zero";
  }
  return validateCosts(node.costs);
}

static std::optional<std::string>
validateMatrix(const Problem &problem, const Edge &edge, uint32_t index) {
  if (index >= problem.matrices.size()) {
    return "refers to matrix " + std::to_string(index) + ", of " +
           std::to_string(problem.matrices.size());
  }
  const Matrix &matrix = problem.matrices[index];
  size_t rows = problem.nodes[edge.from].costs.size();
  size_t columns = problem.nodes[edge.to].costs.size();
  if (matrix.rows != rows || matrix.columns != columns ||
      matrix.entries.size() != rows * columns) {
    return "has " + std::to_string(matrix.entries.size()) +
           " entries, expected " + std::to_string(rows) + " x " +
           std::to_string(columns);
  }
  return std::nullopt;
}

/// Indices first: what follows looks them up.
static std::optional<std::string> validateEdge(const Problem &problem,
                                               const Edge &edge) {
  size_t last = std::max(edge.from, edge.to);
  if (last >= problem.nodes.size()) {
    return "refers to node " + std::to_string(last) + ", of " +
           std::to_string(problem.nodes.size());
  }
  if (auto error = validateMatrix(problem, edge, edge.costs)) {
    return error;
  }
  if (auto error = validateCosts(problem.matrices[edge.costs].entries)) {
    return error;
  }
  if (!edge.usages) {
    return std::nullopt;
  }
  if (auto error = validateInterval(edge.live)) {
    return error;
  }
  if (edge.from == edge.to) {
    return "uses memory, but joins a node with itself";
  }
  if (auto error = validateMatrix(problem, edge, *edge.usages)) {
    return "usage " + *error;
  }
  const Matrix &usages = problem.matrices[*edge.usages];
  if (std::ranges::any_of(usages.entries,
                          [](int64_t use) { return use < 0; })) {
    return "has a usage below zero";
  }
  return std::nullopt;
}

std::optional<std::string> validate(const Problem &problem) {
  for (size_t i = 0; i != problem.nodes.size(); ++i) {
    if (auto error = validateNode(problem.nodes[i])) {
      return "node " + std::to_string(i) + " " + *error;
    }
  }
  for (size_t i = 0; i != problem.edges.size(); ++i) {
    if (auto error = validateEdge(problem, problem.edges[i])) {
      return "edge " + std::to_string(i) + " " + *error;
    }
  }
  return std::nullopt;
}

/// Each matrix once, however many edges share it.
Wide trivialLowerBound(const Problem &problem) {
  std::vector<int64_t> least;
  for (const Matrix &matrix : problem.matrices) {
    least.push_back(
        matrix.entries.empty() ? 0 : *std::ranges::min_element(matrix.entries));
  }
  Wide bound = 0;
  for (const Node &node : problem.nodes) {
    bound += *std::ranges::min_element(node.costs);
  }
  for (const Edge &edge : problem.edges) {
    bound += least[edge.costs];
  }
  return bound;
}

/// Usage over time: what is added and taken at each time.
using Changes = std::map<int64_t, Wide>;

static void addUsage(Changes &changes, Lifetime live, int64_t usage) {
  if (live.begin < live.end && usage != 0) {
    changes[live.begin] += usage;
    changes[live.end] -= usage;
  }
}

/// Usage is summed over the times at which it changes, in order.
Solution evaluate(const Problem &problem, std::vector<uint32_t> assignment) {
  Solution solution;
  Changes changes;
  for (size_t i = 0; i != problem.nodes.size(); ++i) {
    const Node &node = problem.nodes[i];
    solution.cost += node.costs[assignment[i]];
    addUsage(changes, node.live, node.usages[assignment[i]]);
  }
  for (const Edge &edge : problem.edges) {
    uint32_t row = assignment[edge.from], column = assignment[edge.to];
    solution.cost += problem.matrices[edge.costs].at(row, column);
    if (edge.usages) {
      addUsage(changes, edge.live,
               problem.matrices[*edge.usages].at(row, column));
    }
  }
  Wide usage = 0;
  for (auto [time, change] : changes) {
    usage += change;
    if (usage > solution.peak) {
      solution.peak = usage;
      solution.peakTime = time;
    }
  }
  solution.assignment = std::move(assignment);
  solution.lowerBound = trivialLowerBound(problem);
  return solution;
}

std::string toString(Wide value) {
  bool negative = value < 0;
  std::string digits;
  do {
    int digit = int(value % 10);
    digits += char('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) {
    digits += '-';
  }
  std::ranges::reverse(digits);
  return digits;
}

} // namespace divisi::search
