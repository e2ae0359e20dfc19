//===- Mcmc.cpp - Metropolis-Hastings over assignments --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mcmc.h"

#include <cmath>
#include <memory>
#include <tuple>

namespace divisi::search {

double Metropolis::most(double cost, Random &random) {
  double scale = std::max(std::abs(cost), 1.0);
  return cost - std::log(random.unit()) * scale / beta_;
}

namespace {
/// The best plan seen, brought up to date by what changed since.
class Best {
public:
  explicit Best(const std::vector<uint32_t> &plan) : plan_(plan) {}

  void changed(std::span<const Change> move) {
    for (const Change &change : move) {
      changed_.push_back(change.node);
    }
    if (changed_.size() > plan_.size()) {
      all_ = true;
      changed_.clear();
    }
  }

  void set(const std::vector<uint32_t> &plan) {
    if (all_) {
      plan_ = plan;
    }
    for (uint32_t v : changed_) {
      plan_[v] = plan[v];
    }
    changed_.clear();
    all_ = false;
  }

  const std::vector<uint32_t> &plan() const { return plan_; }

private:
  std::vector<uint32_t> plan_, changed_;
  bool all_ = false;
};
} // namespace

/// Patience is half of all work, so that a run that has come to rest ends early
/// and does so at the same point each time.
std::optional<std::vector<uint32_t>>
metropolisHastings(Judge &judge, MoveSet &moves, Acceptance &acceptance,
                   Random &random, Budget &budget,
                   const std::function<void()> &onBest) {
  Best best(judge.plan());
  double cost = judge.cost(), bestCost = cost;
  bool found = judge.isFeasible();
  if (found) {
    onBest();
  }
  int64_t bestWork = budget.spent();
  int64_t patience = (budget.spent() + budget.left()) / 2;
  std::vector<Change> move;
  while (budget.spend(1) && budget.spent() - bestWork <= patience) {
    moves.propose(judge.plan(), random, move);
    if (move.empty()) {
      break;
    }
    if (!judge.tryMove(move, acceptance.most(cost, random))) {
      continue;
    }
    cost = judge.cost();
    best.changed(move);
    // Until a plan is feasible, whatever is cheaper with its penalties counts
    // as better.
    bool feasible = judge.isFeasible();
    if ((feasible && !found) || (feasible == found && cost < bestCost)) {
      found = feasible;
      bestCost = cost;
      bestWork = budget.spent();
      best.set(judge.plan());
      if (found) {
        onBest();
      }
    }
  }
  return found ? std::optional(best.plan()) : std::nullopt;
}

/// What `strategy` of `node` costs with the edges to nodes before it; first how
/// many of these are infeasible.
static std::pair<int, Wide> costSoFar(const Problem &problem,
                                      const std::vector<uint32_t> &edges,
                                      const std::vector<uint32_t> &plan,
                                      uint32_t node, uint32_t strategy) {
  std::pair<int, Wide> sum;
  auto add = [&](int64_t cost) {
    (cost >= kInfeasible ? sum.first += 1 : sum.second += cost);
  };
  add(problem.nodes[node].costs[strategy]);
  for (uint32_t e : edges) {
    const Edge &edge = problem.edges[e];
    uint32_t s = edge.from == node ? strategy : plan[edge.from];
    uint32_t t = edge.to == node ? strategy : plan[edge.to];
    add(problem.matrices[edge.costs].at(s, t));
  }
  return sum;
}

std::vector<uint32_t> simplePlan(const Problem &problem, Budget &budget) {
  std::vector<std::vector<uint32_t>> before(problem.nodes.size());
  for (uint32_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    before[std::max(edge.from, edge.to)].push_back(e);
  }
  std::vector<uint32_t> plan(problem.nodes.size(), 0);
  for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
    const Node &node = problem.nodes[v];
    std::optional<std::tuple<int, Wide, Wide>> best;
    for (uint32_t s = 0; s != node.costs.size(); ++s) {
      auto [forbidden, cost] = costSoFar(problem, before[v], plan, v, s);
      Wide usage = 0;
      forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
        usage += problem.limitOf(r) ? usages[s] : 0;
      });
      std::tuple score(forbidden, usage, cost);
      if (!best || score < *best) {
        best = score;
        plan[v] = s;
      }
    }
    budget.spend(int64_t(node.costs.size() * (1 + before[v].size())));
  }
  return plan;
}

Outcome solveMcmc(const Problem &problem, const Options &options) {
  Budget budget(options);
  budget.look();
  std::vector<uint32_t> first =
      options.first.empty() ? simplePlan(problem, budget) : options.first;
  std::unique_ptr<Judge> judge;
  TimedJudge *timed = nullptr;
  if (options.timer) {
    auto own = std::make_unique<TimedJudge>(problem, std::move(first), budget,
                                            *options.timer);
    timed = own.get();
    judge = std::move(own);
  } else {
    judge = std::make_unique<CostJudge>(problem, std::move(first), budget);
  }
  WithFollowers moves(problem, budget);
  // A move that costs a fifth of an average node is taken one time in e.
  Metropolis acceptance(5 * double(std::max<size_t>(problem.nodes.size(), 1)));
  Random random(options.seed);
  // By work, so that the trace is the same each time.
  constexpr int64_t kWorkBetween = 1 << 24;
  int64_t next = 0;
  Outcome outcome;
  auto onBest = [&] {
    if (timed) {
      outcome.timed = timed->time();
    }
    if (!options.onProgress || budget.spent() < next) {
      return;
    }
    next = budget.spent() + kWorkBetween;
    Solution solution = evaluate(problem, judge->plan());
    options.onProgress({budget.seconds(), budget.spent(), solution.cost,
                        solution.lowerBound, "mcmc", &solution});
  };
  auto plan =
      metropolisHastings(*judge, moves, acceptance, random, budget, onBest);
  outcome.stopped = budget.why();
  outcome.work = budget.spent();
  if (plan) {
    outcome.verdict = Verdict::Solved;
    outcome.solution = evaluate(problem, std::move(*plan));
    return outcome;
  }
  outcome.message = "no feasible plan was met; the last one has " +
                    std::to_string(judge->numForbidden()) +
                    " infeasible choices and is " + toString(judge->excess()) +
                    " bytes above the limit";
  return outcome;
}

} // namespace divisi::search
