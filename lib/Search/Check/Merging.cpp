//===- Merging.cpp - Replays the deductions of a certificate --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Merging.h"

#include <algorithm>
#include <numeric>

namespace divisi::search {

static constexpr uint32_t kNone = ~0u;

/// An edge of a node with itself is a cost of its states.
Merging::Merging(const Problem &problem)
    : problem_(problem), parent_(problem.nodes.size()),
      map_(problem.nodes.size()), states_(problem.nodes.size()),
      infeasible_(problem.nodes.size()), incident_(problem.nodes.size()) {
  std::iota(parent_.begin(), parent_.end(), 0);
  for (size_t i = 0; i != problem.nodes.size(); ++i) {
    const std::vector<int64_t> &costs = problem.nodes[i].costs;
    states_[i].resize(costs.size());
    std::iota(states_[i].begin(), states_[i].end(), 0);
    for (int64_t cost : costs) {
      infeasible_[i].push_back(cost >= kInfeasible);
    }
  }
  for (uint32_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    if (edge.from != edge.to) {
      incident_[edge.from].push_back(e);
      incident_[edge.to].push_back(e);
      continue;
    }
    const Matrix &costs = problem.matrices[edge.costs];
    for (uint32_t s = 0; s != costs.rows; ++s) {
      if (costs.at(s, s) >= kInfeasible) {
        infeasible_[edge.from][s] = true;
      }
    }
  }
}

/// Compresses the path, composing the maps on it: a chain of followers may be
/// as long as the program.
uint32_t Merging::variableOf(uint32_t node) {
  uint32_t up = parent_[node];
  if (parent_[up] == up) {
    return up;
  }
  path_.clear();
  for (; parent_[node] != node; node = parent_[node]) {
    path_.push_back(node);
  }
  // From the top: then the map of the one above is already the variable's.
  for (size_t i = path_.size() - 1; i-- != 0;) {
    const std::vector<uint32_t> &above = map_[path_[i + 1]];
    std::vector<uint32_t> &own = map_[path_[i]];
    std::vector<uint32_t> composed(above.size(), kNone);
    for (size_t s = 0; s != above.size(); ++s) {
      composed[s] = above[s] == kNone ? kNone : own[above[s]];
    }
    own = std::move(composed);
    parent_[path_[i]] = node;
  }
  return node;
}

uint32_t Merging::strategy(uint32_t node, uint32_t state) {
  return variableOf(node) == node ? state : map_[node][state];
}

std::optional<std::string> Merging::checkVariable(uint32_t variable) {
  if (variable >= parent_.size()) {
    return "there is no variable " + std::to_string(variable) +
           "; the problem has " + std::to_string(parent_.size()) + " nodes";
  }
  if (parent_[variable] != variable) {
    return "node " + std::to_string(variable) +
           " is no longer a variable, it follows variable " +
           std::to_string(variableOf(variable));
  }
  return std::nullopt;
}

std::optional<std::string> Merging::take(const Deduction &deduction) {
  if (auto wrong = checkVariable(deduction.variable)) {
    return wrong;
  }
  if (auto wrong = checkVariable(deduction.other)) {
    return wrong;
  }
  return deduction.kind == Deduction::Kind::Drop
             ? drop(deduction)
             : follow(deduction.variable, deduction.other);
}

/// Leaves in bridges_ all edges between the two, and forgets on the way those
/// whose ends have come to be in one variable.
void Merging::findBridges(uint32_t first, uint32_t second) {
  if (bridgesOf_ == std::pair(first, second)) {
    return;
  }
  bridgesOf_ = {first, second};
  bridges_.clear();
  // Either list has them all.
  bool shorter = incident_[first].size() <= incident_[second].size();
  std::erase_if(incident_[shorter ? first : second], [&](uint32_t e) {
    uint32_t from = variableOf(problem_.edges[e].from);
    uint32_t to = variableOf(problem_.edges[e].to);
    if (from == first && to == second) {
      bridges_.push_back({e, true});
    } else if (from == second && to == first) {
      bridges_.push_back({e, false});
    }
    return from == to;
  });
}

/// Whether all bridges allow `state` of the first with `otherState` of the
/// second.
bool Merging::goTogether(uint32_t state, uint32_t otherState) {
  return std::ranges::all_of(bridges_, [&](Bridge bridge) {
    const Edge &edge = problem_.edges[bridge.edge];
    uint32_t row = strategy(edge.from, bridge.forward ? state : otherState);
    uint32_t column = strategy(edge.to, bridge.forward ? otherState : state);
    return problem_.matrices[edge.costs].at(row, column) < kInfeasible;
  });
}

/// A state fails by itself, or because the other variable has no state left
/// that goes with it; both are looked up, neither believed.
std::optional<std::string> Merging::drop(const Deduction &deduction) {
  uint32_t v = deduction.variable, w = deduction.other;
  std::vector<uint32_t> &states = states_[v];
  std::string what = "variable " + std::to_string(v) + " cannot lose state " +
                     std::to_string(deduction.state);
  auto it = std::ranges::lower_bound(states, deduction.state);
  if (it == states.end() || *it != deduction.state) {
    return what + ", it does not have it";
  }
  if (v == w) {
    if (!infeasible_[v][deduction.state]) {
      return what + ", which is feasible by itself";
    }
  } else {
    findBridges(v, w);
    for (uint32_t t : states_[w]) {
      if (goTogether(deduction.state, t)) {
        return what + ", which goes with state " + std::to_string(t) +
               " of variable " + std::to_string(w);
      }
    }
  }
  states.erase(it);
  return std::nullopt;
}

/// Each state of the leader may go with one state of the follower at most. A
/// state of the leader that goes with none is lost.
std::optional<std::string> Merging::follow(uint32_t leader, uint32_t follower) {
  std::string what = "variable " + std::to_string(follower) +
                     " cannot follow variable " + std::to_string(leader);
  if (leader == follower) {
    return what + ", which is the same";
  }
  findBridges(leader, follower);
  std::vector<uint32_t> partners(problem_.nodes[leader].costs.size(), kNone);
  for (uint32_t s : states_[leader]) {
    for (uint32_t t : states_[follower]) {
      if (!goTogether(s, t)) {
        continue;
      }
      if (partners[s] != kNone) {
        return what + ": state " + std::to_string(s) + " of variable " +
               std::to_string(leader) + " goes with its states " +
               std::to_string(partners[s]) + " and " + std::to_string(t);
      }
      partners[s] = t;
    }
  }
  unite(leader, follower, std::move(partners));
  return std::nullopt;
}

/// The bridges need no look at infeasible_: no partner is across one that is
/// infeasible.
void Merging::unite(uint32_t leader, uint32_t follower,
                    std::vector<uint32_t> partners) {
  std::erase_if(states_[leader],
                [&](uint32_t s) { return partners[s] == kNone; });
  for (uint32_t s : states_[leader]) {
    if (infeasible_[follower][partners[s]]) {
      infeasible_[leader][s] = true;
    }
  }
  parent_[follower] = leader;
  map_[follower] = std::move(partners);
  states_[follower] = {};
  // Moving the shorter list keeps the sum of moves near linear.
  std::vector<uint32_t> &edges = incident_[leader], &more = incident_[follower];
  if (edges.size() < more.size()) {
    std::swap(edges, more);
  }
  edges.insert(edges.end(), more.begin(), more.end());
  more = {};
  bridgesOf_.reset();
}

} // namespace divisi::search
