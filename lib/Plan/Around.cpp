//===- Around.cpp - The neighbourhood of one decision ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Around.h"

#include <algorithm>

namespace divisi::plan {

/// How many edges away a node may be, how many may be free, and what choosing
/// them anew may cost: milliseconds.
static constexpr unsigned kRadius = 4;
static constexpr size_t kMostFree = 24;
static constexpr int64_t kWork = 4'000'000;

Around::Around(const search::Problem &problem, unsigned node)
    : problem_(problem), node_(node), edges_(problem.nodes.size()) {
  for (const search::Edge &edge : problem.edges) {
    edges_[edge.from].push_back(&edge);
    if (edge.to != edge.from) {
      edges_[edge.to].push_back(&edge);
    }
  }
  std::vector<bool> seen(problem.nodes.size(), false);
  std::vector<unsigned> ring = {node};
  seen[node] = true;
  for (unsigned distance = 0; distance < kRadius; ++distance) {
    std::vector<unsigned> next;
    for (unsigned at : ring) {
      for (const search::Edge *edge : edges_[at]) {
        unsigned other = edge->from == at ? edge->to : edge->from;
        if (!seen[other] && free_.size() < kMostFree) {
          seen[other] = true;
          next.push_back(other);
          free_.push_back(other);
        }
      }
    }
    ring = std::move(next);
  }
  std::ranges::sort(free_);
  std::vector<bool> inside(problem.nodes.size(), false);
  inside[node] = true;
  for (unsigned at : free_) {
    inside[at] = true;
  }
  for (const search::Edge &edge : problem.edges) {
    if (inside[edge.from] || inside[edge.to]) {
      near_.push_back(&edge);
    }
  }
}

search::Wide Around::costNear(const std::vector<uint32_t> &assignment) const {
  search::Wide sum = problem_.nodes[node_].costs[assignment[node_]];
  for (unsigned node : free_) {
    sum += problem_.nodes[node].costs[assignment[node]];
  }
  for (const search::Edge *edge : near_) {
    sum += problem_.matrices[edge->costs].at(assignment[edge->from],
                                             assignment[edge->to]);
  }
  return sum;
}

/// The free nodes; what joins them with others is a part of their costs.
search::Problem
Around::subproblem(const std::vector<uint32_t> &assignment) const {
  search::Problem sub;
  auto indexOf = [&](unsigned node) {
    auto it = std::ranges::lower_bound(free_, node);
    return it != free_.end() && *it == node ? int64_t(it - free_.begin())
                                            : int64_t(-1);
  };
  for (unsigned node : free_) {
    sub.nodes.push_back({.costs = problem_.nodes[node].costs});
    sub.nodes.back().usages.assign(sub.nodes.back().costs.size(), 0);
  }
  auto addCost = [&](int64_t index, uint32_t choice, int64_t cost) {
    int64_t &sum = sub.nodes[index].costs[choice];
    sum = std::min(sum + std::min(cost, search::kInfeasible),
                   search::kInfeasible);
  };
  for (const search::Edge *edge : near_) {
    int64_t from = indexOf(edge->from), to = indexOf(edge->to);
    const search::Matrix &matrix = problem_.matrices[edge->costs];
    if (from >= 0 && to >= 0) {
      sub.edges.push_back({.from = uint32_t(from),
                           .to = uint32_t(to),
                           .costs = uint32_t(sub.matrices.size())});
      sub.matrices.push_back(matrix);
    } else if (from >= 0) {
      for (uint32_t row = 0; row != matrix.rows; ++row) {
        addCost(from, row, matrix.at(row, assignment[edge->to]));
      }
    } else if (to >= 0) {
      for (uint32_t column = 0; column != matrix.columns; ++column) {
        addCost(to, column, matrix.at(assignment[edge->from], column));
      }
    }
  }
  return sub;
}

std::vector<uint32_t> Around::adapt(std::vector<uint32_t> assignment,
                                    uint32_t choice) const {
  assignment[node_] = choice;
  if (free_.empty()) {
    return assignment;
  }
  search::Outcome outcome =
      search::solveAuto(subproblem(assignment), {.work = kWork});
  if (outcome.verdict != search::Verdict::Solved) {
    return assignment;
  }
  std::vector<uint32_t> adapted = assignment;
  for (size_t i = 0; i != free_.size(); ++i) {
    adapted[free_[i]] = outcome.solution.assignment[i];
  }
  return costNear(adapted) <= costNear(assignment) ? adapted : assignment;
}

} // namespace divisi::plan
