//===- JudgePlans.cpp - Which of the best plans is taken ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search adds times, as if nothing overlapped: only so it has bounds. Of
// the plans that it has met, those of the least sums are lowered to the
// point where they have an order that overlaps, and simulated. One more plan is
// looked for: from the best one on, by Metropolis-Hastings with a simulator of
// the planning problem (PlanTimer.h). The one that takes least is taken.
//
//     sum    simulated
//     100       97       least sum
//     101       92       taken: what it moves is hidden
//     102       --       its operators alone take 93
//
//===----------------------------------------------------------------------===//

#include "GridSearch.h"
#include "PlanTimer.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi::plan {

/// So many plans are simulated, at most.
static constexpr size_t kMostJudged = 4;
/// Their sums are at most so many times the least.
static constexpr double kNearlyLeast = 1.25;
/// So much of the time another plan has to save to be taken: times are
/// estimates.
static constexpr double kWorthwhile = 0.005;

/// Keeps the plan of `fit` if it is among those of the least sums. Problems of
/// large programs take too much memory to be kept.
void GridSearch::meet(Candidate &grid, const FitOutcome &fit) {
  if (!measurer_.canSimulate() || isLarge()) {
    return;
  }
  auto costOf = [](const MetPlan &met) {
    return met.fit.outcome.solution.cost;
  };
  const search::Solution &solution = fit.outcome.solution;
  bool isKnown = llvm::any_of(met_, [&](const MetPlan &met) {
    return met.grid == &grid && costOf(met) == solution.cost;
  });
  if (isKnown) {
    return;
  }
  auto place = llvm::find_if(
      met_, [&](const MetPlan &met) { return costOf(met) > solution.cost; });
  if (size_t(place - met_.begin()) < kMostJudged) {
    met_.insert(place, {&grid, grid.view, fit});
    met_.resize(std::min(met_.size(), kMostJudged));
  }
}

/// A plan on the grid of the best one that the simulator of the problem likes
/// better, if it finds one.
std::optional<GridSearch::MetPlan> GridSearch::refined() {
  constexpr int64_t kByNode = 300'000, kMost = 1'000'000'000;
  auto nodes = int64_t(best_->planning->problem.nodes.size());
  search::Options asked = solverOptions(std::min(nodes * kByNode, kMost), 0);
  asked.onProgress = nullptr;
  asked.first = best_->outcome.solution.assignment;
  FitOutcome fit = solveView(inputsOf(*bestGrid_), options_,
                             *search::findSolver("mcmc"), asked,
                             {bestView_, bestGrid_->memory.ladder(),
                              best_->planning, measurer_.isAble()});
  work_ += fit.outcome.work;
  if (!fit.hasPlan() || fit.outcome.solution.assignment == asked.first) {
    return std::nullopt;
  }
  // Its time is that of the problem, and no other plan's.
  fit.outcome.timed.reset();
  return MetPlan{bestGrid_, bestView_, std::move(fit)};
}

/// Replaces the best plan by one that takes less with overlap. What is proved
/// of sums stays.
void GridSearch::judge() {
  search::Wide sum = best_->outcome.solution.cost;
  auto partsOfBest =
      partsOf(*best_->planning, best_->outcome.solution.assignment);
  // What moves nothing has nothing to hide.
  if (double(partsOfBest.ways) <=
      kWorthwhile * double(partsOfBest.operators + partsOfBest.ways)) {
    return;
  }
  auto simulated = [&](const Candidate &grid, const PlanningProblem &planning,
                       const search::Outcome &outcome) {
    return measurer_.simulate(inputsOf(grid), planning,
                              outcome.solution.assignment);
  };
  std::optional<int64_t> least =
      simulated(*bestGrid_, *best_->planning, best_->outcome);
  if (!least) {
    return;
  }
  int64_t judged = 1;
  std::vector<MetPlan> plans = std::move(met_);
  if (std::optional<MetPlan> plan = refined()) {
    plans.insert(plans.begin(), std::move(*plan));
  }
  best_->simulated = least;
  for (MetPlan &plan : plans) {
    if (options_.control.struck() != search::Stopped::Finished) {
      break;
    }
    const search::Solution &solution = plan.fit.outcome.solution;
    double enough = (1 - kWorthwhile) * double(*best_->simulated);
    bool isBest = plan.grid == bestGrid_ && solution.cost == sum;
    if (isBest || judged == int64_t(kMostJudged) ||
        double(solution.cost) > kNearlyLeast * double(sum) ||
        double(partsOf(*plan.fit.planning, solution.assignment).operators) >=
            enough) {
      continue;
    }
    ++judged;
    std::optional<int64_t> time =
        simulated(*plan.grid, *plan.fit.planning, plan.fit.outcome);
    ViewResult ignored;
    if (!time || double(*time) >= enough ||
        !fits(*plan.grid, plan.fit, ignored)) {
      continue;
    }
    bestGrid_ = plan.grid;
    bestView_ = plan.view;
    best_->devices = plan.grid->devices;
    best_->planning = plan.fit.planning;
    best_->outcome.solution =
        search::evaluate(plan.fit.planning->problem, solution.assignment);
    best_->peaks = plan.fit.use->peaks;
    best_->simulated = time;
    best_->leastSum = nanosecondsOf(sum);
  }
  best_->judged = judged;
}

} // namespace divisi::plan
