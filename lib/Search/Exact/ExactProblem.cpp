//===- ExactProblem.cpp - The problem in 128-bit integers -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactProblem.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace divisi::search {

using Pair = std::pair<uint32_t, uint32_t>;

static Wide toWide(int64_t cost) {
  return cost >= kInfeasible ? kForbiddenWide : Wide(cost);
}

/// Costs of nodes, with those of their edges to themselves.
static std::vector<Factor> nodeCosts(const Problem &problem) {
  std::vector<Factor> costs;
  for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
    Factor &factor = costs.emplace_back();
    factor.scope = {v};
    std::ranges::transform(problem.nodes[v].costs,
                           std::back_inserter(factor.values), toWide);
  }
  for (const Edge &edge : problem.edges) {
    for (uint32_t s = 0;
         edge.from == edge.to && s != costs[edge.from].values.size(); ++s) {
      costs[edge.from].values[s] +=
          toWide(problem.matrices[edge.costs].at(s, s));
    }
  }
  return costs;
}

/// Costs of all edges between two nodes, by the smaller and the larger one.
static std::map<Pair, Factor> pairCosts(const Problem &problem) {
  std::map<Pair, Factor> costs;
  for (const Edge &edge : problem.edges) {
    if (edge.from == edge.to) {
      continue;
    }
    auto [u, v] = std::minmax(edge.from, edge.to);
    const Matrix &matrix = problem.matrices[edge.costs];
    Factor &factor = costs[{u, v}];
    factor.scope = {u, v};
    factor.values.resize(matrix.entries.size(), 0);
    size_t columns = problem.nodes[v].costs.size();
    for (uint32_t r = 0; r != matrix.rows; ++r) {
      for (uint32_t c = 0; c != matrix.columns; ++c) {
        size_t at = edge.from == u ? r * columns + c : c * columns + r;
        factor.values[at] += toWide(matrix.at(r, c));
      }
    }
  }
  return costs;
}

namespace {
/// Which strategies are left.
class ArcConsistency {
public:
  ArcConsistency(const std::vector<Factor> &nodes,
                 const std::map<Pair, Factor> &pairs)
      : factors_(nodes.size()) {
    for (const Factor &node : nodes) {
      std::vector<bool> &alive = alive_.emplace_back();
      for (Wide cost : node.values) {
        alive.push_back(cost < kForbiddenWideSum);
      }
      queue_.push_back(uint32_t(queue_.size()));
    }
    for (const auto &[ends, factor] : pairs) {
      factors_[ends.first].push_back(&factor);
      factors_[ends.second].push_back(&factor);
    }
    for (size_t i = 0; i != queue_.size(); ++i) {
      for (const Factor *factor : factors_[queue_[i]]) {
        prune(*factor, queue_[i] == factor->scope[0]);
      }
    }
  }

  std::vector<uint32_t> strategies(uint32_t v) const {
    std::vector<uint32_t> strategies;
    for (uint32_t s = 0; s != alive_[v].size(); ++s) {
      if (alive_[v][s]) {
        strategies.push_back(s);
      }
    }
    return strategies;
  }

private:
  /// Drops states of one end that no state of the other goes with.
  void prune(const Factor &factor, bool ofSecond) {
    uint32_t target = factor.scope[ofSecond], other = factor.scope[!ofSecond];
    size_t columns = alive_[factor.scope[1]].size();
    bool dropped = false;
    for (size_t s = 0; s != alive_[target].size(); ++s) {
      bool supported = !alive_[target][s];
      for (size_t t = 0; t != alive_[other].size() && !supported; ++t) {
        size_t at = ofSecond ? t * columns + s : s * columns + t;
        supported = alive_[other][t] && factor.values[at] < kForbiddenWideSum;
      }
      if (!supported) {
        alive_[target][s] = false;
        dropped = true;
      }
    }
    if (dropped) {
      queue_.push_back(target);
    }
  }

  std::vector<std::vector<bool>> alive_;
  std::vector<std::vector<const Factor *>> factors_;
  std::vector<uint32_t> queue_; ///< Variables that lost states.
};
} // namespace

/// The entries of a matrix over all strategies that are left.
template <typename T>
static std::vector<T> restricted(const std::vector<T> &entries, size_t columns,
                                 const std::vector<uint32_t> &rowsLeft,
                                 const std::vector<uint32_t> &columnsLeft) {
  std::vector<T> left;
  for (uint32_t r : rowsLeft) {
    for (uint32_t c : columnsLeft) {
      left.push_back(entries[r * columns + c]);
    }
  }
  return left;
}

/// Arc consistency first, on costs that are summed by pair; then everything is
/// cut to the strategies that are left. A node without a choice adds its pairs'
/// costs to the other end.
ExactProblem::ExactProblem(const Problem &problem)
    : times(maximalTimes(problem)) {
  for (Moment time : times) {
    limits.push_back(*problem.limitOf(time.resource));
  }
  for (uint32_t r = 0; r != problem.numResources(); ++r) {
    if (auto limit = problem.limitOf(r)) {
      idleExcess = std::max(idleExcess.value_or(-*limit), -Wide(*limit));
    }
  }
  std::vector<Factor> nodes = nodeCosts(problem);
  std::map<Pair, Factor> between = pairCosts(problem);
  ArcConsistency consistency(nodes, between);
  for (uint32_t v = 0; v != nodes.size(); ++v) {
    strategies.push_back(consistency.strategies(v));
    sizes.push_back(uint32_t(strategies[v].size()));
    if (sizes[v] == 0) {
      impossible = v;
      return;
    }
    costs.push_back({{v}, restricted(nodes[v].values, 1, strategies[v], {0})});
  }
  // Who has no choice adds to the others' costs.
  std::map<Pair, uint32_t> factorOf;
  for (auto &[ends, factor] : between) {
    auto [u, v] = ends;
    std::vector<Wide> values =
        restricted(factor.values, problem.nodes[v].costs.size(), strategies[u],
                   strategies[v]);
    if (sizes[u] != 1 && sizes[v] != 1) {
      factorOf[ends] = uint32_t(costs.size());
      costs.push_back({{u, v}, std::move(values)});
      pairs.push_back(ends);
      continue;
    }
    factorOf[ends] = sizes[u] == 1 ? v : u;
    for (size_t s = 0; s != values.size(); ++s) {
      costs[factorOf[ends]].values[s] += values[s];
    }
  }
  addUses(problem, factorOf);
}

void ExactProblem::addUses(const Problem &problem,
                           const std::map<Pair, uint32_t> &factorOf) {
  auto add = [&](const auto &user, uint32_t resource, const Use &use) {
    forEachLife(user, [&](Lifetime live) {
      uses.push_back(use);
      uses.back().times = rangeOf(times, resource, live);
    });
  };
  for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
    const Node &node = problem.nodes[v];
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
      add(node, r, {v, v, restricted(usages, 1, strategies[v], {0}), v, {}});
    });
  }
  for (const Edge &edge : problem.edges) {
    forEachUsage(edge, [&](uint32_t r, uint32_t index) {
      auto [u, v] = std::minmax(edge.from, edge.to);
      const Matrix &matrix = problem.matrices[index];
      std::vector<int64_t> usages;
      for (uint32_t s : strategies[u]) {
        for (uint32_t t : strategies[v]) {
          usages.push_back(edge.from == u ? matrix.at(s, t) : matrix.at(t, s));
        }
      }
      add(edge, r, {u, v, std::move(usages), factorOf.at({u, v}), {}});
    });
  }
}

std::vector<uint32_t>
ExactProblem::assignment(std::span<const uint32_t> states) const {
  std::vector<uint32_t> assignment;
  for (size_t v = 0; v != states.size(); ++v) {
    assignment.push_back(strategies[v][states[v]]);
  }
  return assignment;
}

/// Memory of a node is priced at the node's factor, that of an edge at the
/// pair's.
std::vector<Factor> pricedFactors(const ExactProblem &exact, Wide scale,
                                  const Prices &prices) {
  std::vector<Factor> factors = exact.costs;
  for (Factor &factor : factors) {
    for (Wide &value : factor.values) {
      value = value >= kForbiddenWideSum ? kForbiddenWide : value * scale;
    }
  }
  std::vector<Wide> sums(prices.size() + 1, 0);
  std::partial_sum(prices.begin(), prices.end(), sums.begin() + 1);
  for (const ExactProblem::Use &use : exact.uses) {
    Wide price =
        use.times.empty() ? 0 : sums[use.times.end] - sums[use.times.begin];
    if (price == 0) {
      continue;
    }
    std::vector<Wide> &values = factors[use.factor].values;
    for (size_t i = 0; i != values.size(); ++i) {
      if (values[i] < kForbiddenWideSum) {
        values[i] += price * use.usages[i];
      }
    }
  }
  return factors;
}

/// The least of each row, each column and the whole of a usage, so that
/// assigning either end looks one number up.
LeastUsage::LeastUsage(const ExactProblem &exact)
    : exact_(exact), states_(exact.sizes.size(), kNone),
      usesOf_(exact.sizes.size()) {
  for (Wide limit : exact.limits) {
    excess_.push_back(-limit);
  }
  for (uint32_t i = 0; i != exact.uses.size(); ++i) {
    const ExactProblem::Use &use = exact.uses[i];
    usesOf_[use.u].push_back(i);
    if (use.u != use.v) {
      usesOf_[use.v].push_back(i);
    }
    size_t columns = use.u == use.v ? 1 : exact.sizes[use.v];
    std::vector<int64_t> ofU(exact.sizes[use.u], INT64_MAX);
    std::vector<int64_t> ofV(columns, INT64_MAX);
    for (size_t at = 0; at != use.usages.size(); ++at) {
      ofU[at / columns] = std::min(ofU[at / columns], use.usages[at]);
      ofV[at % columns] = std::min(ofV[at % columns], use.usages[at]);
    }
    leastOfAll_.push_back(std::ranges::min(ofU));
    leastOfU_.push_back(std::move(ofU));
    leastOfV_.push_back(std::move(ofV));
    for (size_t t = use.times.begin; t < use.times.end; ++t) {
      excess_[t] += leastOfAll_.back();
    }
  }
}

int64_t LeastUsage::least(size_t index) const {
  const ExactProblem::Use &use = exact_.uses[index];
  uint32_t s = states_[use.u], t = states_[use.v];
  if (use.u == use.v) {
    return s == kNone ? leastOfAll_[index] : use.usages[s];
  }
  if (s == kNone) {
    return t == kNone ? leastOfAll_[index] : leastOfV_[index][t];
  }
  return t == kNone ? leastOfU_[index][s]
                    : use.usages[size_t(s) * exact_.sizes[use.v] + t];
}

void LeastUsage::set(uint32_t variable, uint32_t state) {
  uint32_t before = states_[variable];
  for (uint32_t index : usesOf_[variable]) {
    const TimeRange &times = exact_.uses[index].times;
    states_[variable] = before;
    Wide change = -Wide(least(index));
    states_[variable] = state;
    change += least(index);
    for (size_t t = times.begin; change != 0 && t < times.end; ++t) {
      excess_[t] += change;
    }
  }
  states_[variable] = state;
}

Wide LeastUsage::assign(uint32_t variable, uint32_t state, Budget &budget) {
  set(variable, state);
  Wide largest = exact_.idleExcess.value_or(0);
  int64_t work = 1;
  for (uint32_t index : usesOf_[variable]) {
    const TimeRange &times = exact_.uses[index].times;
    for (size_t t = times.begin; t < times.end; ++t) {
      largest = std::max(largest, excess_[t]);
    }
    work += int64_t(times.end - times.begin);
  }
  budget.spend(work);
  return largest;
}

void LeastUsage::release(uint32_t variable) { set(variable, kNone); }

Wide LeastUsage::largest() const {
  Wide idle = exact_.idleExcess.value_or(0);
  return excess_.empty() ? idle : std::max(idle, std::ranges::max(excess_));
}

} // namespace divisi::search
