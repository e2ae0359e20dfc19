//===- McmcMoves.cpp - What Metropolis-Hastings proposes ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mcmc.h"

#include <map>

namespace divisi::search {

static constexpr uint32_t kNone = ~0u;

OneNode::OneNode(const Problem &problem) {
  for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
    std::vector<uint32_t> feasible;
    for (uint32_t s = 0; s != problem.nodes[v].costs.size(); ++s) {
      if (problem.nodes[v].costs[s] < kInfeasible) {
        feasible.push_back(s);
      }
    }
    if (feasible.size() > 1) {
      choices_.push_back({v, std::move(feasible)});
    }
  }
}

void OneNode::propose(const std::vector<uint32_t> &plan, Random &random,
                      std::vector<Change> &move) {
  move.clear();
  if (choices_.empty()) {
    return;
  }
  const Choice &choice = choices_[random.below(uint32_t(choices_.size()))];
  uint32_t count = uint32_t(choice.strategies.size());
  uint32_t at = random.below(count);
  if (choice.strategies[at] == plan[choice.node]) {
    at = (at + 1 + random.below(count - 1)) % count;
  }
  move.push_back({choice.node, choice.strategies[at]});
}

/// For each row (or column, if `transposed`) its only feasible entry, or kNone;
/// empty if no row has just one.
static std::vector<uint32_t> onlyPartners(const Matrix &matrix,
                                          bool transposed) {
  uint32_t count = transposed ? matrix.columns : matrix.rows;
  uint32_t others = transposed ? matrix.rows : matrix.columns;
  std::vector<uint32_t> partners(count, kNone);
  bool any = false;
  for (uint32_t s = 0; s != count; ++s) {
    uint32_t feasible = 0, last = kNone;
    for (uint32_t t = 0; t != others; ++t) {
      int64_t cost = transposed ? matrix.at(t, s) : matrix.at(s, t);
      feasible += cost < kInfeasible;
      last = cost < kInfeasible ? t : last;
    }
    partners[s] = feasible == 1 ? last : kNone;
    any |= feasible == 1;
  }
  return any && others > 1 ? partners : std::vector<uint32_t>();
}

WithFollowers::WithFollowers(const Problem &problem, Budget &budget)
    : leader_(problem), partners_(problem.nodes.size()),
      moved_(problem.nodes.size(), false), budget_(budget) {
  std::map<std::pair<uint32_t, bool>, const std::vector<uint32_t> *> known;
  for (const Edge &edge : problem.edges) {
    if (edge.from == edge.to) {
      continue;
    }
    for (bool transposed : {false, true}) {
      auto &table = known[{edge.costs, transposed}];
      if (!table) {
        const Matrix &matrix = problem.matrices[edge.costs];
        budget.spend(int64_t(matrix.entries.size()));
        tables_.push_back(onlyPartners(matrix, transposed));
        table = &tables_.back();
      }
      if (!table->empty()) {
        uint32_t node = transposed ? edge.to : edge.from;
        partners_[node].push_back({transposed ? edge.from : edge.to, table});
      }
    }
  }
}

void WithFollowers::propose(const std::vector<uint32_t> &plan, Random &random,
                            std::vector<Change> &move) {
  leader_.propose(plan, random, move);
  for (const Change &change : move) {
    moved_[change.node] = true;
  }
  int64_t work = 0;
  for (size_t i = 0; i != move.size(); ++i) {
    Change change = move[i];
    work += int64_t(partners_[change.node].size());
    for (const Partners &partners : partners_[change.node]) {
      uint32_t partner = (*partners.strategies)[change.strategy];
      if (partner == kNone || moved_[partners.other] ||
          plan[partners.other] == partner) {
        continue;
      }
      moved_[partners.other] = true;
      move.push_back({partners.other, partner});
    }
  }
  for (const Change &change : move) {
    moved_[change.node] = false;
  }
  budget_.spend(work);
}

} // namespace divisi::search
