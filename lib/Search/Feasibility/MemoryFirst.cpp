//===- MemoryFirst.cpp - Assignments within the limit ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryFirst.h"

#include <algorithm>

namespace divisi::search {

/// Costs of states and entries become their weighted usage.
static void weigh(CostGraph &graph, const std::vector<double> &weights) {
  std::vector<double> sums{0};
  for (double weight : weights) {
    sums.push_back(sums.back() + weight);
  }
  auto add = [&](std::vector<double> &costs, const std::vector<Usage> &usages) {
    for (double &cost : costs) {
      cost = cost >= kForbidden ? kTop : 0;
    }
    for (const Usage &usage : usages) {
      for (size_t s = 0; s != costs.size(); ++s) {
        costs[s] += usage.usages[s] * (sums[usage.end] - sums[usage.begin]);
      }
    }
  };
  for (Variable &variable : graph.variables) {
    add(variable.costs, variable.usages);
  }
  for (Pair &pair : graph.pairs) {
    auto table = std::make_shared<Table>(*pair.table);
    add(table->exact, pair.usages);
    table->round();
    pair.table = std::move(table);
  }
  graph.constant = 0;
}

/// The graph with usages, weighted by time, in place of costs.
MemoryFirst::MemoryFirst(const CostGraph &graph) : graph_(&graph) {
  // Every time counts alike, however much it has.
  weights_.assign(graph.capacity.size(), 1.0 / double(graph.capacity.size()));
  weighted_ = graph;
  // A pair that excludes nothing and uses nothing says nothing here.
  std::erase_if(weighted_.pairs, [](const Pair &pair) {
    return !pair.table->hard && pair.usages.empty();
  });
  weighted_.index();
  weigh(weighted_, weights_);
  for (size_t t = 0; t != weights_.size(); ++t) {
    allowed_ += weights_[t] * graph.capacity[t];
  }
  lagrangian_ = std::make_unique<Lagrangian>(weighted_);
  lagrangian_->setWarmUp(4);
}

void MemoryFirst::consider(const Assignment &assignment) {
  Value value = valueOf(*graph_, assignment);
  if (value.cost >= kForbidden) {
    return;
  }
  if (value.excess < leastExcess_) {
    leastExcess_ = value.excess;
    closest_ = assignment;
  }
  if (value.excess <= 0) {
    found_ = assignment;
  }
}

/// What a change of usage by `change` while [begin, end) does to the excess.
static double excessChange(const std::vector<double> &excess, uint32_t begin,
                           uint32_t end, double change) {
  double sum = 0;
  for (uint32_t t = begin; t != end; ++t) {
    sum += std::max(excess[t] + change, 0.0) - std::max(excess[t], 0.0);
  }
  return sum;
}

/// Whether `state` of `v` goes with what its neighbours take.
static bool fits(const CostGraph &graph, const Assignment &assignment,
                 uint32_t v, uint32_t state) {
  return graph.variables[v].costs[state] < kForbidden &&
         std::ranges::all_of(
             graph.pairsOf[v],
             [&](uint32_t p) {
               const Pair &pair = graph.pairs[p];
               double cost =
                   pair.first == v
                       ? pair.table->at(state, assignment[pair.second])
                       : pair.table->at(assignment[pair.first], state);
               return cost < kForbidden;
             });
}

/// The state of `v` that lessens the excess most, its own if none does.
uint32_t MemoryFirst::bestState(const Assignment &assignment, uint32_t v,
                                const std::vector<double> &excess,
                                int64_t &work) const {
  double best = -1e-9;
  uint32_t to = assignment[v];
  for (uint32_t s = 0; s != graph_->numStates(v); ++s) {
    if (s == assignment[v]) {
      continue;
    }
    double change = 0;
    for (const Usage &usage : graph_->variables[v].usages) {
      change += excessChange(excess, usage.begin, usage.end,
                             usage.usages[s] - usage.usages[assignment[v]]);
      work += usage.end - usage.begin;
    }
    if (change < best && fits(*graph_, assignment, v, s)) {
      best = change;
      to = s;
    }
  }
  return to;
}

/// Lets single variables change where that lessens the excess and breaks no
/// pair. Models whose pairs use memory are left as they are.
void MemoryFirst::repair(Assignment &assignment, int64_t &work) const {
  std::vector<double> excess;
  excessOf(*graph_, assignment, excess);
  bool changed = true;
  for (int round = 0; changed && round != 8; ++round) {
    changed = false;
    for (uint32_t v = 0; v != assignment.size(); ++v) {
      uint32_t to = bestState(assignment, v, excess, work);
      if (to == assignment[v]) {
        continue;
      }
      for (const Usage &usage : graph_->variables[v].usages) {
        double more = usage.usages[to] - usage.usages[assignment[v]];
        for (uint32_t t = usage.begin; t != usage.end; ++t) {
          excess[t] += more;
        }
      }
      assignment[v] = to;
      changed = true;
    }
  }
}

/// Steps of the weighted Lagrangian, whose roundings are looked at; every
/// eighth step the closest or the latest one is repaired by single moves.
int64_t MemoryFirst::search(int64_t work,
                            const std::function<bool()> &stopped) {
  int64_t done = 0;
  bool simple = std::ranges::all_of(
      graph_->pairs, [](const Pair &pair) { return pair.usages.empty(); });
  for (int i = 0; done < work && found_.empty() && !infeasible_ && !stopped();
       ++i) {
    lagrangian_->step(allowed_ * (1 + 1e-6) + 1);
    done += lagrangian_->workOfStep();
    consider(lagrangian_->forwardTaken());
    consider(lagrangian_->backwardTaken());
    if (found_.empty() && simple && i % 8 == 7 && !closest_.empty()) {
      Assignment repaired =
          i % 16 == 7 ? closest_ : lagrangian_->backwardTaken();
      repair(repaired, done);
      consider(repaired);
    }
    infeasible_ = lagrangian_->best().bound > allowed_ * (1 + 1e-7) + 1e-3;
  }
  return done;
}

/// Weights and what the Lagrangian has made of them, as prices; messages are
/// made anew for the graph with its costs.
DualPoint MemoryFirst::proof(double price) const {
  DualPoint point = lagrangian_->best();
  for (size_t t = 0; t != weights_.size(); ++t) {
    point.prices[t] = (point.prices[t] + weights_[t]) * price;
  }
  // Messages follow from the prices: of the whole graph, made anew.
  Messages(*graph_).save(point.messages);
  point.bound = -std::numeric_limits<double>::infinity();
  Messages messages = Lagrangian(*graph_, point).messages();
  Assignment taken;
  for (int i = 0; i != 20; ++i) {
    messages.forward(taken);
    messages.backward(taken);
  }
  messages.save(point.messages);
  return point;
}

} // namespace divisi::search
