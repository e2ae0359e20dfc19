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

/// Of a node or an edge: one interval after the other.
static std::optional<std::string>
validateLives(Lifetime live, const std::vector<Lifetime> &more) {
  auto error = validateInterval(live);
  for (Lifetime again : more) {
    if (!error && again.begin < live.end) {
      error = "lives again from " + std::to_string(again.begin) +
              ", before it ends at " + std::to_string(live.end);
    }
    if (!error) {
      error = validateInterval(again);
    }
    live = again;
  }
  return error;
}

/// `count` lists of usages of further resources.
static std::optional<std::string> validateResources(const Problem &problem,
                                                    size_t count) {
  if (count < problem.numResources()) {
    return std::nullopt;
  }
  return "uses memory of resource " + std::to_string(count) + ", of " +
         std::to_string(problem.numResources());
}

static std::optional<std::string>
validateUsages(const std::vector<int64_t> &usages) {
  return std::ranges::any_of(usages, [](int64_t use) { return use < 0; })
             ? std::optional<std::string>("has a usage below zero")
             : std::nullopt;
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

static std::optional<std::string> validateNode(const Problem &problem,
                                               const Node &node) {
  if (node.costs.empty()) {
    return "has no strategy";
  }
  std::optional<std::string> error;
  forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
    if (!error && usages.size() != node.costs.size()) {
      error = "has " + std::to_string(node.costs.size()) + " costs but " +
              std::to_string(usages.size()) + " usages" +
              ofResource(problem, r);
    }
  });
  if (error) {
    return error;
  }
  if (!node.strategies.empty() && node.strategies.size() != node.costs.size()) {
    return "has " + std::to_string(node.costs.size()) + " costs but " +
           std::to_string(node.strategies.size()) + " names of strategies";
  }
  error = validateLives(node.live, node.moreLives);
  forEachUsage(node, [&](uint32_t, const std::vector<int64_t> &usages) {
    error = error ? error : validateUsages(usages);
  });
  return error ? error : validateCosts(node.costs);
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

namespace {
/// Matrices whose entries have been looked at, since many edges share them.
struct SeenMatrices {
  std::vector<bool> costs, usages;
  explicit SeenMatrices(const Problem &problem)
      : costs(problem.matrices.size()), usages(problem.matrices.size()) {}
};
} // namespace

static std::optional<std::string> validateEdgeUsages(const Problem &problem,
                                                     const Edge &edge,
                                                     uint32_t matrix,
                                                     SeenMatrices &seen) {
  if (auto error = validateLives(edge.live, edge.moreLives)) {
    return error;
  }
  if (edge.from == edge.to) {
    return "uses memory, but joins a node with itself";
  }
  if (auto error = validateMatrix(problem, edge, matrix)) {
    return "usage " + *error;
  }
  if (seen.usages[matrix]) {
    return std::nullopt;
  }
  seen.usages[matrix] = true;
  return validateUsages(problem.matrices[matrix].entries);
}

/// Indices first: what follows looks them up.
static std::optional<std::string>
validateEdge(const Problem &problem, const Edge &edge, SeenMatrices &seen) {
  size_t last = std::max(edge.from, edge.to);
  if (last >= problem.nodes.size()) {
    return "refers to node " + std::to_string(last) + ", of " +
           std::to_string(problem.nodes.size());
  }
  if (auto error = validateMatrix(problem, edge, edge.costs)) {
    return error;
  }
  if (!seen.costs[edge.costs]) {
    seen.costs[edge.costs] = true;
    if (auto error = validateCosts(problem.matrices[edge.costs].entries)) {
      return error;
    }
  }
  if (auto error = validateResources(problem, edge.moreUsages.size())) {
    return error;
  }
  std::optional<std::string> error;
  forEachUsage(edge, [&](uint32_t, uint32_t matrix) {
    error = error ? error : validateEdgeUsages(problem, edge, matrix, seen);
  });
  return error;
}

std::optional<std::string> validate(const Problem &problem) {
  for (size_t i = 0; i != problem.nodes.size(); ++i) {
    auto error = validateResources(problem, problem.nodes[i].moreUsages.size());
    if (!error) {
      error = validateNode(problem, problem.nodes[i]);
    }
    if (error) {
      return "node " + std::to_string(i) + " " + *error;
    }
  }
  SeenMatrices seen(problem);
  for (size_t i = 0; i != problem.edges.size(); ++i) {
    if (auto error = validateEdge(problem, problem.edges[i], seen)) {
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

bool Problem::isLimited() const {
  return usageLimit || std::ranges::any_of(moreResources, [](auto &resource) {
           return resource.limit.has_value();
         });
}

std::string ofResource(const Problem &problem, uint32_t resource) {
  if (problem.numResources() == 1) {
    return "";
  }
  const std::string &name = problem.nameOf(resource);
  return " of resource " + std::to_string(resource) +
         (name.empty() ? "" : " ('" + name + "')");
}

/// Usage over time: what is added and taken at each time.
using Changes = std::map<int64_t, Wide>;

template <typename NodeOrEdge>
static void addUsage(Changes &changes, const NodeOrEdge &user, int64_t usage) {
  forEachLife(user, [&](Lifetime live) {
    if (live.begin < live.end && usage != 0) {
      changes[live.begin] += usage;
      changes[live.end] -= usage;
    }
  });
}

/// Usage is summed over the times at which it changes, in order.
static Peak peakOf(const Changes &changes) {
  Peak peak;
  Wide usage = 0;
  for (auto [time, change] : changes) {
    usage += change;
    if (usage > peak.usage) {
      peak = {usage, time};
    }
  }
  return peak;
}

Solution evaluate(const Problem &problem, std::vector<uint32_t> assignment) {
  Solution solution;
  std::vector<Changes> changes(problem.numResources());
  for (size_t i = 0; i != problem.nodes.size(); ++i) {
    const Node &node = problem.nodes[i];
    solution.cost += node.costs[assignment[i]];
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
      addUsage(changes[r], node, usages[assignment[i]]);
    });
  }
  for (const Edge &edge : problem.edges) {
    uint32_t row = assignment[edge.from], column = assignment[edge.to];
    solution.cost += problem.matrices[edge.costs].at(row, column);
    forEachUsage(edge, [&](uint32_t r, uint32_t matrix) {
      addUsage(changes[r], edge, problem.matrices[matrix].at(row, column));
    });
  }
  Peak peak = peakOf(changes[0]);
  solution.peak = peak.usage;
  solution.peakTime = peak.time;
  for (size_t r = 1; r != changes.size(); ++r) {
    solution.morePeaks.push_back(peakOf(changes[r]));
  }
  solution.assignment = std::move(assignment);
  solution.lowerBound = trivialLowerBound(problem);
  return solution;
}

std::optional<Excess> exceeded(const Problem &problem,
                               const Solution &solution) {
  std::optional<Excess> most;
  for (uint32_t r = 0; r != problem.numResources(); ++r) {
    Peak peak = solution.peakOf(r);
    std::optional<int64_t> limit = problem.limitOf(r);
    if (limit && peak.usage > *limit &&
        (!most || peak.usage - *limit > most->excess)) {
      most = {r, peak, peak.usage - *limit};
    }
  }
  return most;
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
