//===- Chains.cpp - Dynamic programming over chains and trees -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without a limit: message passing gives a bound and good assignments, trees
// improve them. With one: after each pass prices move along the usage above
// the limit (Polyak's step towards a target above the bound), until the
// assignments taken on the way fit.
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Solvers.h"

#include "Memory.h"
#include "Messages.h"
#include "Trees.h"

#include <algorithm>

namespace divisi::search {

namespace {
class ChainSolver {
public:
  ChainSolver(const Problem &problem, const Options &options)
      : problem_(problem), seed_(options.seed), work_(options.work),
        model_(problem), prices_(model_.numSegments(), 0) {}

  Outcome solve();

private:
  void passMessages(Messages &messages, int passes);
  void priceMemory(Messages &messages);
  void movePrices(const Usage &forward, const Usage &backward, double bound);
  void improveWithinLimit();
  void startOver();
  bool fits(const Assignment &assignment) const {
    return model_.excess(model_.usage(assignment)) <= 0;
  }
  /// Keeps `assignment` if it fits and costs less than what is kept.
  bool offer(const Assignment &assignment);
  /// Makes `assignment` fit and better, at zero prices, then offers it.
  void finish(Assignment assignment);
  Outcome conclude() const;

  const Problem &problem_;
  uint64_t seed_;
  int64_t work_;
  Model model_;
  std::vector<double> prices_;
  std::vector<double> gradient_;
  Assignment best_; ///< Within the limit; empty until one is found.
  double bestCost_ = 0;
  Assignment latest_; ///< By message passing.
  double bound_ = -1e30;
  double reach_ = 0; ///< How far above the bound the target lies.
};
} // namespace

bool ChainSolver::offer(const Assignment &assignment) {
  double cost = model_.cost(assignment);
  if (!fits(assignment) || (!best_.empty() && cost >= bestCost_)) {
    return false;
  }
  best_ = assignment;
  bestCost_ = cost;
  return true;
}

void ChainSolver::finish(Assignment assignment) {
  std::vector<double> zero(prices_.size(), 0);
  model_.setPrices(zero);
  if (!model_.limit() || repair(model_, work_, assignment)) {
    descend(model_, work_, assignment);
    offer(assignment);
  }
  model_.setPrices(prices_);
}

/// Passes messages until the bound stands still; `latest_` is the cheapest
/// assignment on the way.
void ChainSolver::passMessages(Messages &messages, int passes) {
  double cheapest = 0, before = bound_;
  for (int i = 0; i != passes && work_ > 0; ++i) {
    double bound = 0;
    for (Assignment taken : {messages.forward(), messages.backward(bound)}) {
      double cost = model_.pricedCost(taken);
      if (latest_.empty() || cost < cheapest) {
        cheapest = cost;
        latest_ = taken;
      }
      offer(taken);
    }
    work_ -= 2 * model_.size();
    bound_ = std::max(bound_, bound);
    double tolerance = 1e-6 * std::max(1.0, std::abs(bound_));
    if (bound_ >= cheapest - tolerance) {
      return;
    }
    if (i % 16 == 15) {
      if (bound_ - before < tolerance) {
        return;
      }
      before = bound_;
    }
  }
}

void ChainSolver::movePrices(const Usage &forward, const Usage &backward,
                             double bound) {
  constexpr double kSmoothing = 0.15;
  double limit = *model_.limit(), norm = 0;
  for (size_t t = 0; t != prices_.size(); ++t) {
    double excess = 0.5 * (forward[t] + backward[t]) - limit;
    gradient_[t] = (1 - kSmoothing) * gradient_[t] + kSmoothing * excess;
    if (gradient_[t] > 0 || prices_[t] > 0) {
      norm += gradient_[t] * gradient_[t];
    }
  }
  if (norm == 0) {
    return;
  }
  double target = bound_ + reach_;
  if (!best_.empty()) {
    target = std::min(target, bound_ + 0.5 * (bestCost_ - bound_));
  }
  // A bound that fell far asks for a huge step, along a gradient of the past.
  double step = std::clamp(target - bound, 0.0, 3 * reach_) / norm;
  for (size_t t = 0; t != prices_.size(); ++t) {
    prices_[t] = std::max(0.0, prices_[t] + step * gradient_[t]);
  }
  model_.setPrices(prices_);
}

/// One warm pass per step is enough, since the bound holds for any messages.
void ChainSolver::priceMemory(Messages &messages) {
  constexpr int kSteps = 600, kPatience = 10, kLost = 15;
  double scale = std::max(std::abs(bound_), 1.0);
  reach_ = 0.1 * scale;
  gradient_.assign(prices_.size(), 0);
  Usage start = model_.usage(latest_);
  for (size_t t = 0; t != prices_.size(); ++t) {
    gradient_[t] = start[t] - *model_.limit();
  }
  std::vector<double> bestPrices = prices_;
  Messages bestMessages = messages;
  int idle = 0, lost = 0;
  for (int i = 0; i != kSteps && work_ > 0; ++i) {
    double sum = 0, bound = 0;
    for (double price : prices_) {
      sum += price;
    }
    Assignment forward = messages.forward();
    Assignment backward = messages.backward(bound);
    bound -= sum * *model_.limit();
    work_ -= 2 * model_.size();
    offer(forward);
    offer(backward);
    if (i % 20 == 19) {
      finish(forward);
      finish(backward);
    }
    latest_ = backward;
    idle = bound > bound_ + 1e-4 * reach_ ? 0 : idle + 1;
    reach_ *= bound > bound_ + 0.1 * reach_ ? 1.05 : 1;
    if (bound > bound_) {
      bound_ = bound;
      bestPrices = prices_;
      bestMessages = messages;
    }
    lost = bound < bound_ - 20 * reach_ ? lost + 1 : 0;
    if (lost > kLost) {
      prices_ = bestPrices;
      messages = bestMessages;
      std::ranges::fill(gradient_, 0);
      model_.setPrices(prices_);
      lost = 0;
    }
    if (idle >= kPatience) {
      reach_ = std::max(0.7 * reach_, 1e-5 * scale);
      idle = 0;
    }
    if (!best_.empty() && bestCost_ - bound_ < 1e-6 * scale) {
      return;
    }
    movePrices(model_.usage(forward), model_.usage(backward), bound);
  }
}

/// Trees know the limit by its price only: what they find is repaired.
void ChainSolver::improveWithinLimit() {
  for (const Assignment &start : {best_, latest_}) {
    if (start.empty()) {
      continue;
    }
    Assignment assignment = start;
    improveByTrees(model_, seed_, 6, work_, assignment);
    finish(std::move(assignment));
  }
}

/// Other basins: trees from random assignments.
void ChainSolver::startOver() {
  constexpr uint64_t kStarts = 4;
  for (uint64_t i = 1; i <= kStarts && work_ > 0; ++i) {
    Random random(seed_ * kStarts + i);
    Assignment assignment;
    for (uint32_t v = 0; v != model_.variables().size(); ++v) {
      assignment.push_back(random.below(uint32_t(model_.numStates(v))));
    }
    improveByTrees(model_, random.next(), 6, work_, assignment);
    finish(std::move(assignment));
  }
}

/// An assignment of the least usage of every node: a proof if that is too much.
static std::optional<Outcome> proveInfeasible(const Problem &problem) {
  if (!problem.usageLimit) {
    return std::nullopt;
  }
  Problem least;
  least.nodes = problem.nodes;
  Assignment assignment;
  for (Node &node : least.nodes) {
    std::vector<int64_t> usages = node.usages;
    for (size_t s = 0; s != usages.size(); ++s) {
      if (node.costs[s] >= kInfeasible) {
        usages[s] = INT64_MAX;
      }
    }
    assignment.push_back(
        uint32_t(std::ranges::min_element(usages) - usages.begin()));
  }
  Solution solution = evaluate(least, assignment);
  Wide missing = solution.peak - *problem.usageLimit;
  if (missing <= 0) {
    return std::nullopt;
  }
  Outcome outcome;
  outcome.status = Status::Infeasible;
  outcome.time = solution.peakTime;
  outcome.message =
      "at time " + std::to_string(solution.peakTime) + " at least " +
      toString(solution.peak) + " bytes are in use, " + toString(missing) +
      " more than the limit of " + std::to_string(*problem.usageLimit);
  return outcome;
}

Outcome ChainSolver::conclude() const {
  Outcome outcome;
  if (best_.size() != problem_.nodes.size()) {
    outcome.message = "no assignment within the limit of " +
                      std::to_string(problem_.usageLimit.value_or(0)) +
                      " bytes was found";
    return outcome;
  }
  outcome.solution = evaluate(problem_, best_);
  // Exactly: in doubles, large costs look infeasible and sums lose it.
  if (check(problem_, outcome.solution)) {
    outcome.message = "no assignment without choices that exclude each other "
                      "was found";
    return outcome;
  }
  outcome.status = Status::Solved;
  return outcome;
}

Outcome ChainSolver::solve() {
  if (std::optional<Outcome> proof = proveInfeasible(problem_)) {
    return *proof;
  }
  int64_t budget = work_;
  Messages messages(model_);
  work_ = std::max<int64_t>(work_, 1); // The first pass is always made.
  passMessages(messages, 200);
  double tolerance = 1e-6 * std::max(1.0, std::abs(bound_));
  bool optimal = !best_.empty() && bestCost_ - bound_ <= tolerance;
  if (!optimal) {
    if (model_.limit() && !fits(latest_)) {
      priceMemory(messages);
    }
    improveWithinLimit();
    startOver();
    if (!best_.empty()) {
      finish(best_);
    }
  }
  Outcome outcome = conclude();
  outcome.work = budget - work_;
  return outcome;
}

Outcome solveChains(const Problem &problem, const Options &options) {
  return ChainSolver(problem, options).solve();
}

} // namespace divisi::search
