//===- Branches.cpp - Candidates for the split of a node ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Branches.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace divisi::search {

/// How many by each score.
static constexpr size_t kFirst = 3;
/// A variable wavers if it takes another state than its usual one this often.
static constexpr double kWavering = 0.1;

Branches::Branches(const SubGraph &sub, const std::vector<double> &prices)
    : sub_(sub), prices_(1, 0), counts_(sub.graph.variables.size()) {
  for (double price : prices) {
    prices_.push_back(prices_.back() + price);
  }
}

void Branches::add(const Assignment &taken) {
  ++roundings_;
  for (size_t v = 0; v != taken.size(); ++v) {
    auto count = std::ranges::find(counts_[v], taken[v], &Count::state);
    if (count == counts_[v].end()) {
      counts_[v].push_back({taken[v], 1});
    } else {
      ++count->times;
    }
  }
}

double Branches::memoryCost(uint32_t v, uint32_t state) const {
  double cost = 0;
  for (const Usage &usage : sub_.graph.variables[v].usages) {
    cost += usage.usages[state] * (prices_[usage.end] - prices_[usage.begin]);
  }
  return cost;
}

/// How much the costs of pairs change between two states of `v`, for those
/// states of the neighbours that roundings take.
double Branches::dependence(uint32_t v, uint32_t state, uint32_t other) const {
  double sum = 0;
  for (uint32_t p : sub_.graph.pairsOf[v]) {
    const Pair &pair = sub_.graph.pairs[p];
    bool first = pair.first == v;
    double most = 0;
    for (Count taken : counts_[first ? pair.second : pair.first]) {
      uint32_t t = taken.state;
      double cost = first ? pair.table->at(state, t) : pair.table->at(t, state);
      double also = first ? pair.table->at(other, t) : pair.table->at(t, other);
      if (cost < kForbidden && also < kForbidden) {
        most = std::max(most, std::abs(cost - also));
      }
    }
    sum += most;
  }
  return sum;
}

/// The states that cost at most `mean` in memory; none if that would be all.
Branch Branches::cheaperHalf(uint32_t v, double mean) const {
  Branch branch{.variable = sub_.variableOf[v]};
  for (uint32_t s = 0; s != sub_.states[v].size(); ++s) {
    if (memoryCost(v, s) <= mean) {
      branch.kept.push_back(sub_.states[v][s]);
    }
  }
  if (branch.kept.size() == sub_.states[v].size()) {
    branch.kept.clear();
  }
  return branch;
}

/// The variable whose best and second best states differ least in what it
/// shares; it keeps the best.
Branch Branches::leastDecided(const Messages &messages) const {
  double least = std::numeric_limits<double>::infinity();
  Branch branch;
  std::vector<double> hat;
  for (uint32_t v = 0; v != counts_.size(); ++v) {
    messages.belief(v, hat);
    auto best = std::ranges::min_element(hat);
    double second = std::numeric_limits<double>::infinity();
    for (auto it = hat.begin(); it != hat.end(); ++it) {
      second = it == best ? second : std::min(second, *it);
    }
    double margin = (second - *best) * messages.share(v);
    if (margin < least) {
      least = margin;
      branch = {sub_.variableOf[v], {sub_.states[v][best - hat.begin()]}};
    }
  }
  return branch;
}

/// Scores every variable that wavers, and takes the first few by each score.
std::vector<Branch> Branches::choose(const Messages &messages) const {
  std::vector<Scored> byMemory, byDependence, byDegree;
  for (uint32_t v = 0; v != counts_.size(); ++v) {
    if (counts_[v].size() < 2) {
      continue;
    }
    std::vector<Count> counts = counts_[v];
    std::ranges::sort(counts, [](Count a, Count b) {
      return std::pair(b.times, a.state) < std::pair(a.times, b.state);
    });
    double sum = 0, squares = 0;
    for (Count count : counts) {
      double cost = memoryCost(v, count.state);
      sum += cost * count.times;
      squares += cost * cost * count.times;
    }
    double mean = sum / roundings_;
    double variance = squares / roundings_ - mean * mean;
    if (variance > 1e-12 * mean * mean) {
      byMemory.push_back({variance, cheaperHalf(v, mean)});
    }
    double wavering = 1 - double(counts[0].times) / roundings_;
    if (wavering >= kWavering) {
      Branch usual{sub_.variableOf[v], {sub_.states[v][counts[0].state]}};
      double depends = dependence(v, counts[0].state, counts[1].state);
      byDependence.push_back({depends * wavering, usual});
      byDegree.push_back({double(sub_.graph.pairsOf[v].size()), usual});
    }
  }
  std::vector<Branch> branches;
  auto add = [&](const Branch &branch) {
    if (!branch.kept.empty() &&
        std::ranges::find(branches, branch) == branches.end()) {
      branches.push_back(branch);
    }
  };
  for (std::vector<Scored> *list : {&byDegree, &byDependence, &byMemory}) {
    std::ranges::stable_sort(*list, std::greater(), &Scored::score);
    for (size_t i = 0; i != std::min(kFirst, list->size()); ++i) {
      add((*list)[i].branch);
    }
  }
  add(leastDecided(messages));
  return branches;
}

} // namespace divisi::search
