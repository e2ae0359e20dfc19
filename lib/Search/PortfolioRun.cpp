//===- PortfolioRun.cpp - Before the rounds, and after --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PortfolioRun.h"

#include "lib/Search/Feasibility/Infeasible.h"

#include <algorithm>

namespace divisi::search {

/// Replaces the bound by what a certificate proves.
void Portfolio::certify(Outcome &outcome) {
  Certifier certifier(problem_, reduction_, reduced_, best_.cost);
  Certificate certificate = certifier.begin();
  certificate.cutoff = solution_.cost;
  if (folded_.point.bound > searchedBound()) {
    certificate.tree.push_back(
        certifier.makeNode(folded_.point, folded_.potentials));
  } else if (branching_) {
    branching_->certify(certifier, certificate, options_.threads);
  } else {
    certificate.tree.push_back(certifier.makeNode(dual_->best()));
  }
  // Checking takes memory of its own. What refers to the graph goes first.
  branching_.reset();
  dual_.reset();
  crossover_.reset();
  memory_.reset();
  reduced_ = {};
  Expected<std::optional<Wide>> bound = provedBound(problem_, certificate);
  if (!bound) {
    outcome.message = "the certificate is wrong: " + bound.status().message();
    return;
  }
  solution_.lowerBound = bound->value_or(solution_.cost);
  solution_.certificate = std::move(certificate);
}

/// The answer with its certificate, or how near the search came to one.
Outcome Portfolio::finish() {
  Outcome outcome;
  outcome.stopped = budget_.over() || !stopped() ? budget_.why()
                    : options_.stop.isRaised()   ? Stopped::Interrupted
                                                 : Stopped::Time;
  if (best_.exists()) {
    outcome.verdict = Verdict::Solved;
    neighbourhoods_.reset();
    certify(outcome);
    if (solution_.lowerBound >= solution_.cost) {
      outcome.stopped = Stopped::Finished;
    }
    outcome.solution = std::move(solution_);
  } else {
    outcome.message = "found no assignment within the memory limit";
    if (memory_ && !memory_->closest().empty()) {
      Solution closest =
          evaluate(problem_, expand(reduction_, reduced_, memory_->closest()));
      if (auto excess = exceeded(problem_, closest)) {
        outcome.message += "; the closest exceeds it by " +
                           toString(excess->excess) +
                           ofResource(problem_, excess->resource);
      }
    }
  }
  outcome.work = budget_.spent();
  return outcome;
}

/// Looks first where tied variables decide as one. The dual goes on from there,
/// unless that has closed the gap.
void Portfolio::startFolded() {
  const CostGraph &graph = reduced_.graph();
  std::vector<uint32_t> classes =
      classesOf(*ingredients_.ties, reduction_, reduced_);
  if (classes.empty() || std::ranges::max(classes) + 1 == classes.size()) {
    return;
  }
  folded_ = searchFolded(graph, classes, options_, options_.work,
                         [this] { return stopped(); });
  if (folded_.work == 0) {
    return;
  }
  budget_.spend(folded_.work);
  if (folded_.best.exists()) {
    adopt(std::move(folded_.best.assignment), folded_.best.cost, "folding");
  }
  if (folded_.point.bound > searchedBound()) {
    dual_.emplace(graph, folded_.point);
  }
  if (!proved()) {
    dual_->step(best_.cost); // Neighbourhoods look at its messages.
  }
  report();
}

/// Reduces, then works in rounds until the budget is over, the gap is closed,
/// or nothing is left to try.
Outcome Portfolio::run() {
  reduction_ = reduce(problem_);
  if (reduction_.emptied) {
    return explainConflict(problem_, *reduction_.emptied);
  }
  reduced_ = buildReducedGraph(problem_, reduction_);
  if (reduced_.overfull) {
    return explainShortage(problem_, options_, budget_, *reduced_.overfull);
  }
  for (const Pair &pair : reduced_.whole.pairs) {
    wholeEntries_ += int64_t(pair.table->rows) * pair.table->columns;
  }
  dual_.emplace(reduced_.graph());
  crossover_.emplace(reduced_.graph());
  if (ingredients_.start) {
    Assignment start =
        contract(reduction_, reduced_, ingredients_.start->assignment);
    double cost = costOf(reduced_.graph(), start);
    adopt(std::move(start), cost, "start");
    dual_->step(best_.cost); // Neighbourhoods look at its messages.
  }
  if (ingredients_.ties) {
    startFolded();
  }
  bool exhausted = false;
  startedAt_ = budget_.seconds();
  while (goesOn() && !proved() && !infeasible_ && !exhausted &&
         (best_.exists() || budget_.spent() < ingredients_.patience)) {
    round();
    reserve_ = certifyingTime();
    budget_.look();
    if (stopped()) {
      break;
    }
    exhausted = isExhausted();
  }
  if (infeasible_ && !best_.exists()) {
    return explainShortage(problem_, options_, budget_, std::nullopt);
  }
  return finish();
}

Outcome runPortfolio(const Problem &problem, const Options &options,
                     Ingredients ingredients) {
  return Portfolio(problem, options, ingredients).run();
}

} // namespace divisi::search
