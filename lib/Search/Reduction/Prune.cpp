//===- Prune.cpp - Leaves out strategies that others replace --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dominance.h lets one state go for another in the graph of a reduced problem,
// in floating point, where costs of several pairs may make up for each other.
// Here each cost and usage is compared by itself, as a witness says it, and in
// integers, before anything is reduced.
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Witness.h"

#include <algorithm>
#include <map>
#include <ranges>

namespace divisi::search {

namespace {

/// One row of numbers for each strategy of a node: of a matrix the entries at
/// all states of the other end.
struct Rows {
  const int64_t *first;       ///< Of strategy 0.
  size_t toNextRow, toNext;   ///< Steps between rows, and within one.
  size_t width;               ///< Numbers in a row.
  const int64_t *exempt = {}; ///< Costs, laid out alike: infeasible is exempt.

  /// Whether no number of row `by` is above that of row `pruned`. What is
  /// infeasible may be anything.
  bool isAtMost(uint32_t by, uint32_t pruned) const {
    const int64_t *mine = first + by * toNextRow;
    const int64_t *most = first + pruned * toNextRow;
    const int64_t *cost = exempt ? exempt + pruned * toNextRow : most;
    for (size_t i = 0; i != width; ++i) {
      if (mine[i * toNext] > most[i * toNext] &&
          cost[i * toNext] < kInfeasible) {
        return false;
      }
    }
    return true;
  }
};

class Pruner {
public:
  explicit Pruner(const Problem &problem);
  Pruned run();

private:
  /// All that decides what a node may lose: its numbers, and the matrices that
  /// it is an end of.
  using Sight = std::pair<std::vector<int64_t>, std::vector<uint32_t>>;

  Sight sightOf(uint32_t node) const;
  std::vector<Rows> rowsOf(uint32_t node) const;
  std::vector<Witness> findLosses(uint32_t node) const;
  uint32_t restricted(uint32_t matrix, uint32_t from, uint32_t to);

  const Problem &problem_;
  std::vector<std::vector<uint32_t>> edgesOf_;
  Pruned result_;
  std::map<Sight, std::vector<Witness>> lossesOf_; ///< Layers are alike.
  using Cut =
      std::tuple<uint32_t, std::vector<uint32_t>, std::vector<uint32_t>>;
  std::map<Cut, uint32_t> cuts_;
};

} // namespace

Pruner::Pruner(const Problem &problem)
    : problem_(problem), edgesOf_(problem.nodes.size()) {
  for (uint32_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    edgesOf_[edge.from].push_back(e);
    if (edge.to != edge.from) {
      edgesOf_[edge.to].push_back(e);
    }
  }
}

Pruner::Sight Pruner::sightOf(uint32_t node) const {
  Sight sight;
  auto &[numbers, matrices] = sight;
  numbers = problem_.nodes[node].costs;
  forEachUsage(problem_.nodes[node],
               [&](uint32_t, const std::vector<int64_t> &usages) {
                 numbers.insert(numbers.end(), usages.begin(), usages.end());
               });
  numbers.push_back(int64_t(problem_.nodes[node].costs.size()));
  for (uint32_t e : edgesOf_[node]) {
    const Edge &edge = problem_.edges[e];
    matrices.push_back(2 * uint32_t(edge.from == node) +
                       uint32_t(edge.to == node));
    matrices.push_back(edge.costs);
    forEachUsage(
        edge, [&](uint32_t r, uint32_t matrix) { matrices.push_back(matrix); });
    matrices.push_back(~uint32_t(0));
  }
  return sight;
}

std::vector<Rows> Pruner::rowsOf(uint32_t node) const {
  const Node &from = problem_.nodes[node];
  std::vector<Rows> rows = {{from.costs.data(), 1, 1, 1}};
  forEachUsage(from, [&](uint32_t, const std::vector<int64_t> &usages) {
    rows.push_back({usages.data(), 1, 1, 1});
  });
  for (uint32_t e : edgesOf_[node]) {
    const Edge &edge = problem_.edges[e];
    const Matrix &costs = problem_.matrices[edge.costs];
    Rows entries = {costs.entries.data(), costs.columns, 1, costs.columns};
    if (edge.from == edge.to) {
      entries = {costs.entries.data(), costs.columns + 1, 1, 1};
    } else if (edge.to == node) {
      entries = {costs.entries.data(), 1, costs.columns, costs.rows};
    }
    rows.push_back(entries);
    forEachUsage(edge, [&](uint32_t, uint32_t matrix) {
      rows.push_back(entries);
      rows.back().first = problem_.matrices[matrix].entries.data();
      rows.back().exempt = costs.entries.data();
    });
  }
  return rows;
}

/// From the last strategy to the first, so that of equals the first stays.
std::vector<Witness> Pruner::findLosses(uint32_t node) const {
  std::vector<Rows> rows = rowsOf(node);
  std::vector<uint32_t> left(problem_.nodes[node].costs.size());
  std::ranges::copy(std::views::iota(uint32_t(0), uint32_t(left.size())),
                    left.begin());
  std::vector<Witness> losses;
  for (size_t i = left.size(); i-- != 0;) {
    uint32_t pruned = left[i];
    // What no assignment takes, anything replaces.
    bool isTaken = problem_.nodes[node].costs[pruned] < kInfeasible;
    auto by = std::ranges::find_if(left, [&](uint32_t other) {
      return other != pruned &&
             (!isTaken || std::ranges::all_of(rows, [&](const Rows &each) {
               return each.isAtMost(other, pruned);
             }));
    });
    if (by != left.end()) {
      losses.push_back({node, pruned, *by});
      left.erase(left.begin() + long(i));
    }
  }
  return losses;
}

/// The part of a matrix that is left between two nodes; equal parts are one.
uint32_t Pruner::restricted(uint32_t matrix, uint32_t from, uint32_t to) {
  const auto &rows = result_.kept[from], &columns = result_.kept[to];
  auto [known, isNew] = cuts_.try_emplace(
      Cut(matrix, rows, columns), uint32_t(result_.problem.matrices.size()));
  if (isNew) {
    Matrix &part = result_.problem.matrices.emplace_back();
    part.rows = uint32_t(rows.size());
    part.columns = uint32_t(columns.size());
    for (uint32_t s : rows) {
      for (uint32_t t : columns) {
        part.entries.push_back(problem_.matrices[matrix].at(s, t));
      }
    }
  }
  return known->second;
}

/// The elements of `list` that are kept; an empty list stays empty.
template <typename T>
static void keep(std::vector<T> &list, const std::vector<uint32_t> &kept) {
  std::vector<T> left;
  for (uint32_t s : kept) {
    if (!list.empty()) {
      left.push_back(std::move(list[s]));
    }
  }
  list = std::move(left);
}

Pruned Pruner::run() {
  result_.problem = problem_;
  result_.problem.matrices.clear();
  for (uint32_t v = 0; v != problem_.nodes.size(); ++v) {
    auto [known, isNew] = lossesOf_.try_emplace(sightOf(v));
    if (isNew) {
      known->second = findLosses(v);
    }
    Node &node = result_.problem.nodes[v];
    std::vector<uint32_t> &kept = result_.kept.emplace_back(node.costs.size());
    std::ranges::copy(std::views::iota(uint32_t(0), uint32_t(kept.size())),
                      kept.begin());
    for (Witness loss : known->second) {
      loss.node = v;
      result_.witnesses.push_back(loss);
      std::erase(kept, loss.pruned);
    }
    keep(node.costs, kept);
    keep(node.usages, kept);
    keep(node.strategies, kept);
    for (std::vector<int64_t> &usages : node.moreUsages) {
      keep(usages, kept);
    }
  }
  for (Edge &edge : result_.problem.edges) {
    edge.costs = restricted(edge.costs, edge.from, edge.to);
    auto cut = [&](std::optional<uint32_t> &matrix) {
      if (matrix) {
        matrix = restricted(*matrix, edge.from, edge.to);
      }
    };
    cut(edge.usages);
    std::ranges::for_each(edge.moreUsages, cut);
  }
  return std::move(result_);
}

Pruned pruneDominated(const Problem &problem) { return Pruner(problem).run(); }

} // namespace divisi::search
