//===- McmcMoves.cpp - The moves of Metropolis-Hastings -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mcmc.h"

#include <algorithm>

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

/// Edges that exclude no pair force no follower.
WithFollowers::WithFollowers(const Problem &problem, Budget &budget)
    : problem_(problem), leader_(problem), edgesOf_(problem.nodes.size()),
      moved_(problem.nodes.size(), false), budget_(budget) {
  std::vector<bool> forbids;
  for (const Matrix &matrix : problem.matrices) {
    budget.spend(int64_t(matrix.entries.size()));
    forbids.push_back(std::ranges::any_of(
        matrix.entries, [](int64_t cost) { return cost >= kInfeasible; }));
  }
  for (uint32_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    if (edge.from != edge.to && forbids[edge.costs]) {
      edgesOf_[edge.from].push_back(e);
      edgesOf_[edge.to].push_back(e);
    }
  }
}

/// A strategy of the other end that goes with `change`, kNone if none does, and
/// the one that it has if that does.
uint32_t WithFollowers::partner(const Edge &edge, Change change,
                                uint32_t present, Random &random) {
  const Matrix &matrix = problem_.matrices[edge.costs];
  bool isFrom = edge.from == change.node;
  auto goesWith = [&](uint32_t t) {
    return (isFrom ? matrix.at(change.strategy, t)
                   : matrix.at(t, change.strategy)) < kInfeasible;
  };
  if (goesWith(present)) {
    return present;
  }
  partners_.clear();
  uint32_t count = isFrom ? matrix.columns : matrix.rows;
  for (uint32_t t = 0; t != count; ++t) {
    if (goesWith(t)) {
      partners_.push_back(t);
    }
  }
  budget_.spend(count);
  return partners_.empty()
             ? kNone
             : partners_[random.below(uint32_t(partners_.size()))];
}

/// Breadth first from the leader. A node moves once; an excluded pair of two
/// that have moved stays, and is paid for.
void WithFollowers::propose(const std::vector<uint32_t> &plan, Random &random,
                            std::vector<Change> &move) {
  leader_.propose(plan, random, move);
  for (const Change &change : move) {
    moved_[change.node] = true;
  }
  int64_t work = 0;
  for (size_t i = 0; i != move.size(); ++i) {
    Change change = move[i];
    work += int64_t(edgesOf_[change.node].size());
    for (uint32_t e : edgesOf_[change.node]) {
      const Edge &edge = problem_.edges[e];
      uint32_t other = edge.from ^ edge.to ^ change.node;
      if (moved_[other]) {
        continue;
      }
      uint32_t strategy = partner(edge, change, plan[other], random);
      if (strategy != kNone && strategy != plan[other]) {
        moved_[other] = true;
        move.push_back({other, strategy});
      }
    }
  }
  for (const Change &change : move) {
    moved_[change.node] = false;
  }
  budget_.spend(work);
}

} // namespace divisi::search
