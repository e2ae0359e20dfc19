//===- Reduction.cpp - Merges nodes that decide together ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduction.h"

#include <algorithm>
#include <deque>
#include <numeric>

namespace divisi::search {

namespace {

constexpr uint32_t kNone = ~uint32_t(0);

/// Which node a node follows, and how its strategy depends on that node's.
/// Compressed like a union-find: `map` is composed along the path.
struct Leader {
  uint32_t node;
  std::vector<uint32_t> map; ///< Empty: the identity.
  uint32_t at(uint32_t state) const { return map.empty() ? state : map[state]; }
};

class Reducer {
public:
  explicit Reducer(const Problem &problem);
  Reduction run();

private:
  Leader &find(uint32_t node);
  void enqueue(uint32_t edge);
  void enqueueAll(uint32_t variable);
  void drop(uint32_t variable, uint32_t state, uint32_t other);
  void dropInfeasibleByCost();
  void process(uint32_t edge);
  void processInside(uint32_t edge, uint32_t variable);
  void collectBetween(uint32_t v, uint32_t w);
  void fillPartners(uint32_t v, uint32_t w);
  bool makeConsistent(uint32_t v, uint32_t w);
  void follow(uint32_t v, uint32_t w, const std::vector<uint32_t> &partner);
  bool growsLittle(uint32_t v, uint32_t w) const;

  const Problem &problem_;
  Reduction result_;
  std::vector<Leader> leaders_;
  std::vector<bool> hard_; ///< Of each matrix: has infeasible entries.
  /// Of each variable: hard edges of its members, and how many edges in all.
  std::vector<std::vector<uint32_t>> hardEdges_;
  std::vector<uint32_t> degree_;
  std::deque<uint32_t> queue_;
  std::vector<bool> queued_;
  // Scratch of one pair of variables.
  std::vector<uint32_t> between_;
  std::vector<uint8_t> compatible_;
  std::vector<uint32_t> partnersOfV_, partnersOfW_; ///< How many.
  std::vector<uint32_t> partnerOfV_, partnerOfW_;   ///< Position of the last.
};

} // namespace

/// Edges without infeasible entries say nothing here; they only count for
/// growsLittle().
Reducer::Reducer(const Problem &problem) : problem_(problem) {
  size_t count = problem.nodes.size();
  result_.states.resize(count);
  leaders_.resize(count);
  hardEdges_.resize(count);
  degree_.assign(count, 0);
  for (uint32_t i = 0; i != count; ++i) {
    leaders_[i].node = i;
    result_.states[i].resize(problem.nodes[i].costs.size());
    std::iota(result_.states[i].begin(), result_.states[i].end(), 0);
  }
  for (const Matrix &matrix : problem.matrices) {
    hard_.push_back(std::ranges::any_of(
        matrix.entries, [](int64_t cost) { return cost >= kInfeasible; }));
  }
  queued_.assign(problem.edges.size(), false);
  for (uint32_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    ++degree_[edge.from];
    ++degree_[edge.to];
    if (hard_[edge.costs]) {
      hardEdges_[edge.from].push_back(e);
      if (edge.to != edge.from) {
        hardEdges_[edge.to].push_back(e);
      }
    }
  }
}

/// The node's leader after compressing the path to it.
Leader &Reducer::find(uint32_t node) {
  // Iterative: chains are as long as the program.
  std::vector<uint32_t> path;
  uint32_t root = node;
  while (leaders_[root].node != root) {
    path.push_back(root);
    root = leaders_[root].node;
  }
  // The last of the path points to the root already.
  for (size_t i = path.size(); i-- > 1;) {
    Leader &upper = leaders_[path[i]], &lower = leaders_[path[i - 1]];
    if (upper.map.empty()) {
      lower.node = root;
      continue;
    }
    std::vector<uint32_t> map(upper.map.size());
    for (size_t s = 0; s != map.size(); ++s) {
      map[s] = upper.map[s] == kNone ? kNone : lower.at(upper.map[s]);
    }
    lower.map = std::move(map);
    lower.node = root;
  }
  return leaders_[node];
}

void Reducer::enqueue(uint32_t edge) {
  if (!queued_[edge]) {
    queued_[edge] = true;
    queue_.push_back(edge);
  }
}

void Reducer::enqueueAll(uint32_t variable) {
  for (uint32_t edge : hardEdges_[variable]) {
    enqueue(edge);
  }
}

void Reducer::drop(uint32_t variable, uint32_t state, uint32_t other) {
  result_.deductions.push_back({Deduction::Kind::Drop, variable, other, state});
  std::erase(result_.states[variable], state);
  if (result_.states[variable].empty() && !result_.emptied) {
    result_.emptied = variable;
  }
}

void Reducer::dropInfeasibleByCost() {
  for (uint32_t i = 0; i != problem_.nodes.size(); ++i) {
    const std::vector<int64_t> &costs = problem_.nodes[i].costs;
    for (uint32_t s = 0; s != costs.size(); ++s) {
      if (costs[s] >= kInfeasible) {
        drop(i, s, i);
      }
    }
  }
}

/// An edge of a node with itself, or of two members of one variable.
void Reducer::processInside(uint32_t edge, uint32_t variable) {
  const Edge &e = problem_.edges[edge];
  const Matrix &matrix = problem_.matrices[e.costs];
  const Leader &from = leaders_[e.from], &to = leaders_[e.to];
  bool changed = false;
  for (uint32_t s : std::vector<uint32_t>(result_.states[variable])) {
    if (matrix.at(from.at(s), to.at(s)) >= kInfeasible) {
      drop(variable, s, variable);
      changed = true;
    }
  }
  if (changed) {
    enqueueAll(variable);
  }
}

/// All hard edges between members of `v` and of `w`.
void Reducer::collectBetween(uint32_t v, uint32_t w) {
  between_.clear();
  bool swap = hardEdges_[v].size() > hardEdges_[w].size();
  uint32_t scanned = swap ? w : v, wanted = swap ? v : w;
  for (uint32_t e : hardEdges_[scanned]) {
    uint32_t a = find(problem_.edges[e].from).node;
    uint32_t b = find(problem_.edges[e].to).node;
    if ((a == scanned && b == wanted) || (a == wanted && b == scanned)) {
      between_.push_back(e);
    }
  }
}

/// For every state of both: how many states of the other go with it.
void Reducer::fillPartners(uint32_t v, uint32_t w) {
  const std::vector<uint32_t> &states = result_.states[v];
  const std::vector<uint32_t> &others = result_.states[w];
  compatible_.assign(states.size() * others.size(), 1);
  for (uint32_t e : between_) {
    const Edge &edge = problem_.edges[e];
    const Matrix &matrix = problem_.matrices[edge.costs];
    bool forward = leaders_[edge.from].node == v;
    const Leader &mine = leaders_[forward ? edge.from : edge.to];
    const Leader &theirs = leaders_[forward ? edge.to : edge.from];
    size_t rowStep = forward ? matrix.columns : 1;
    size_t columnStep = forward ? 1 : matrix.columns;
    uint8_t *out = compatible_.data();
    for (uint32_t s : states) {
      const int64_t *row = matrix.entries.data() + mine.at(s) * rowStep;
      for (uint32_t t : others) {
        *out++ &= row[theirs.at(t) * columnStep] < kInfeasible;
      }
    }
  }
  partnersOfV_.assign(states.size(), 0);
  partnerOfV_.assign(states.size(), kNone);
  partnersOfW_.assign(others.size(), 0);
  partnerOfW_.assign(others.size(), kNone);
  const uint8_t *in = compatible_.data();
  for (uint32_t i = 0; i != states.size(); ++i) {
    for (uint32_t j = 0; j != others.size(); ++j) {
      if (*in++) {
        ++partnersOfV_[i];
        partnerOfV_[i] = j;
        ++partnersOfW_[j];
        partnerOfW_[j] = i;
      }
    }
  }
}

/// Drops states without partner; true if some were.
bool Reducer::makeConsistent(uint32_t v, uint32_t w) {
  bool changed = false;
  auto dropLonely = [&](uint32_t x, uint32_t y,
                        const std::vector<uint32_t> &partners) {
    std::vector<uint32_t> states = result_.states[x];
    bool any = false;
    for (size_t i = 0; i != states.size(); ++i) {
      if (partners[i] == 0) {
        drop(x, states[i], y);
        any = true;
      }
    }
    if (any) {
      enqueueAll(x);
      changed = true;
    }
  };
  dropLonely(v, w, partnersOfV_);
  dropLonely(w, v, partnersOfW_);
  return changed;
}

/// All members of `w` now depend on `v`, whose i-th state goes with the state
/// of `w` at position `partner[i]`.
void Reducer::follow(uint32_t v, uint32_t w,
                     const std::vector<uint32_t> &partner) {
  std::vector<uint32_t> map(problem_.nodes[v].costs.size(), kNone);
  for (size_t i = 0; i != partner.size(); ++i) {
    map[result_.states[v][i]] = result_.states[w][partner[i]];
  }
  result_.deductions.push_back({Deduction::Kind::Follow, v, w, 0});
  leaders_[w] = {v, std::move(map)};
  result_.states[w].clear();
  for (uint32_t e : hardEdges_[w]) {
    hardEdges_[v].push_back(e);
    enqueue(e);
  }
  hardEdges_[w] = {};
  degree_[v] += degree_[w];
}

/// Where `w` follows `v` without being a copy of it, the edges of `w` get a row
/// for each state of `v`.
bool Reducer::growsLittle(uint32_t v, uint32_t w) const {
  return degree_[w] <= 3 ||
         result_.states[v].size() <= 2 * result_.states[w].size();
}

/// Arc consistency of one pair of variables, then contraction if one's state
/// follows from the other's.
void Reducer::process(uint32_t edge) {
  uint32_t v = find(problem_.edges[edge].from).node;
  uint32_t w = find(problem_.edges[edge].to).node;
  if (v == w) {
    processInside(edge, v);
    return;
  }
  collectBetween(v, w);
  fillPartners(v, w);
  if (makeConsistent(v, w)) {
    if (result_.emptied) {
      return;
    }
    fillPartners(v, w);
  }
  if (result_.states[v].size() == 1 || result_.states[w].size() == 1) {
    return; // Fixed variables need not be joined to anything.
  }
  auto single = [](uint32_t partners) { return partners == 1; };
  bool vDecides = std::ranges::all_of(partnersOfV_, single);
  bool wDecides = std::ranges::all_of(partnersOfW_, single);
  // The one with fewer edges follows, so that lists move seldom.
  if (vDecides && wDecides) {
    if (hardEdges_[w].size() <= hardEdges_[v].size()) {
      follow(v, w, partnerOfV_);
    } else {
      follow(w, v, partnerOfW_);
    }
  } else if (vDecides && growsLittle(v, w)) {
    follow(v, w, partnerOfV_);
  } else if (wDecides && growsLittle(w, v)) {
    follow(w, v, partnerOfW_);
  }
}

/// A queue of hard edges: whatever changes a variable puts its edges back.
Reduction Reducer::run() {
  dropInfeasibleByCost();
  for (uint32_t e = 0; e != problem_.edges.size(); ++e) {
    if (hard_[problem_.edges[e].costs]) {
      enqueue(e);
    }
  }
  while (!queue_.empty() && !result_.emptied) {
    uint32_t edge = queue_.front();
    queue_.pop_front();
    queued_[edge] = false;
    process(edge);
  }
  result_.variableOf.resize(problem_.nodes.size());
  result_.strategies.resize(problem_.nodes.size());
  for (uint32_t i = 0; i != problem_.nodes.size(); ++i) {
    const Leader &leader = find(i);
    result_.variableOf[i] = leader.node;
    for (uint32_t s : result_.states[leader.node]) {
      result_.strategies[i].push_back(leader.at(s));
    }
  }
  return std::move(result_);
}

Reduction reduce(const Problem &problem) { return Reducer(problem).run(); }

} // namespace divisi::search
