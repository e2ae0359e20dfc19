//===- Portfolio.cpp - Rounds of the default solver -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PortfolioRun.h"

#include "divisi/Support/Thread.h"
#include "lib/Search/Feasibility/Infeasible.h"

#include <algorithm>
#include <cmath>

namespace divisi::search {

/// Steps of the dual without an answer, before memory comes first.
static constexpr int64_t kPatience = 64;
/// A restart of the dual aims at this part of the gap, and pays if the last one
/// closed that much of it.
static constexpr double kRestartAmbition = 0.3, kRestartGain = 0.1;
/// Neighbourhoods in vain, after which they get less time than branching.
static constexpr int64_t kFailures = 100;

/// What an entry costs to certify, and to check, against a pass of messages.
static constexpr double kCertifying = 4, kChecking = 6;

/// As tasks ask: the clock and the flag, but not the work, which would depend
/// on which task is ahead.
bool Portfolio::stopped() const {
  return options_.stop.isRaised() ||
         (options_.timeLimit &&
          budget_.seconds() + reserve_ >= *options_.timeLimit);
}

/// Seconds that certifying what there is now takes, and checking it: by entry
/// about so much as message passing has taken so far, on this machine and as
/// busy as it is.
double Portfolio::certifyingTime() const {
  double threads = std::max(1u, std::min(options_.threads, 2u));
  double perEntry = (budget_.seconds() - startedAt_) * threads /
                    double(std::max<int64_t>(budget_.spent(), 1));
  double leaves = branching_ ? double(branching_->numLeaves()) : 1;
  return 0.02 + 3e-6 * double(problem_.nodes.size()) +
         leaves * double(wholeEntries_) * perEntry *
             (kCertifying / threads + kChecking);
}

double Portfolio::searchedBound() const {
  return branching_ ? branching_->bound() : dual_->best().bound;
}

double Portfolio::bound() const {
  return std::max(searchedBound(), folded_.point.bound);
}

/// Costs are integers, so a bound above best - 1 closes the gap.
bool Portfolio::proved() const {
  if (options_.cutoff && bound() >= double(*options_.cutoff)) {
    return true;
  }
  return best_.exists() &&
         bound() > best_.cost - std::max(options_.gap * std::abs(best_.cost),
                                         toleranceOf(best_.cost));
}

/// Whether there is work left, or more of it pays.
bool Portfolio::goesOn() {
  bool isFar = !best_.exists() ||
               best_.cost - bound() > options_.fairGap * std::abs(best_.cost);
  while (budget_.over() && budget_.why() == Stopped::Work && isFar &&
         moreWork_ > 0) {
    int64_t round = std::min(moreWork_, std::max<int64_t>(options_.work, 1));
    moreWork_ -= round;
    budget_.extend(round);
  }
  return !budget_.over();
}

/// Every ingredient has nothing left to try.
bool Portfolio::isExhausted() const {
  if (branching_) {
    return branching_->exhausted();
  }
  bool dualDone = !ingredients_.dual || dual_->ended();
  bool answersDone =
      !ingredients_.neighbourhoods ||
      (neighbourhoods_ && neighbourhoods_->failures() >
                              200 + int64_t(reduced_.graph().variables.size()));
  return best_.exists() && !ingredients_.branching && dualDone && answersDone;
}

/// Makes an assignment the best one, after looking at it exactly.
void Portfolio::adopt(Assignment assignment, double cost, std::string_view by) {
  Solution solution =
      evaluate(problem_, expand(reduction_, reduced_, assignment));
  if (exceeded(problem_, solution)) {
    return; // Too close to the limit for floating point.
  }
  if (best_.exists() && solution.cost >= solution_.cost) {
    return;
  }
  best_.assignment = std::move(assignment);
  best_.cost = cost;
  solution_ = std::move(solution);
  if (!neighbourhoods_) {
    neighbourhoods_.emplace(reduced_.graph(), options_.seed);
  }
  announcer_.answer(solution_, by);
}

void Portfolio::report() {
  announcer_.bound(bound(), best_.exists() ? &solution_ : nullptr, best_.cost,
                   branching_ ? "branching" : "dual");
}

int64_t Portfolio::workOnDual(int64_t work) {
  int64_t done = 0;
  while (done < work && !stopped()) {
    dual_->step(best_.cost);
    done += dual_->workOfStep();
    crossover_->allow(dual_->workOfStep());
    done += crossover_->add(dual_->forwardTaken(), rounded_);
    done += crossover_->add(dual_->backwardTaken(), rounded_);
    if (!best_.exists() && rounded_.exists()) {
      break; // The first answer is wanted at once.
    }
  }
  roundings_ = {dual_->forwardTaken(), dual_->backwardTaken()};
  return std::max<int64_t>(done, 1);
}

int64_t Portfolio::workOnAnswers(int64_t work) {
  auto stop = [this] { return stopped(); };
  if (best_.exists()) {
    if (!ingredients_.neighbourhoods || reduced_.graph().variables.empty()) {
      return 0;
    }
    improved_ = best_;
    return neighbourhoods_->improve(improved_, start_, work, stop);
  }
  return memory_ ? memory_->search(work, stop) : 0;
}

void Portfolio::workOnBoth(const std::function<int64_t()> &first,
                           const std::function<int64_t()> &second) {
  int64_t done = 0, alsoDone = 0;
  Expected<Thread> thread =
      options_.threads > 1
          ? Thread::start("the search", [&] { alsoDone = second(); })
          : Thread();
  done = first();
  if (thread && thread->isJoinable()) {
    thread->join();
  } else {
    alsoDone = second();
  }
  budget_.spend(std::max<int64_t>(done + alsoDone, 1));
}

/// Both tasks split nodes, or one does while the other looks for answers.
void Portfolio::branchRound() {
  bool search = ingredients_.neighbourhoods &&
                (neighbourhoods_->failures() < kFailures || rounds_ % 4 == 0);
  int64_t work = std::max(roundWork_, branching_->workOfExpansion());
  std::vector<BranchAndBound::Expansion> expansions =
      branching_->take(best_.cost, search ? roundWork_ : 2 * work);
  auto expandEvery = [&](size_t begin, size_t step) {
    int64_t done = 0;
    for (size_t i = begin; i < expansions.size() && !stopped(); i += step) {
      done += branching_->expand(expansions[i], [&] { return stopped(); });
    }
    return done;
  };
  improved_ = {};
  start_ = dual_->best();
  if (search) {
    workOnBoth([&] { return expandEvery(0, 1); },
               [&] { return workOnAnswers(work); });
  } else {
    workOnBoth([&] { return expandEvery(0, 2); },
               [&] { return expandEvery(1, 2); });
  }
  if (improved_.exists() && improved_.cost < best_.cost) {
    adopt(std::move(improved_.assignment), improved_.cost, "neighbourhood");
  }
  for (BranchAndBound::Expansion &expansion : expansions) {
    if (expansion.found.exists() && expansion.found.cost < best_.cost) {
      adopt(expansion.found.assignment, expansion.found.cost, "branching");
    }
    for (Assignment &rounding : expansion.roundings) {
      neighbourhoods_->remember(rounding);
    }
  }
  branching_->put(std::move(expansions), best_.cost);
}

/// A target that comes down too fast strands the dual below its optimum: while
/// starting over from the best point pays, the target goes up again.
void Portfolio::restartDual() {
  double gap = best_.cost - bound();
  if (gap <= toleranceOf(best_.cost) ||
      bound() - boundAtRestart_ < kRestartGain * gap) {
    return;
  }
  boundAtRestart_ = bound();
  dual_->restore();
  dual_->setAmbition(kRestartAmbition * gap);
}

/// What the search for anything that fits has come to.
void Portfolio::lookAtMemory() {
  if (!memory_->found().empty()) {
    adopt(memory_->found(), costOf(reduced_.graph(), memory_->found()),
          "memory");
  } else if (memory_->infeasible() && !shortageTried_) {
    // It searches no further, so that one try is enough.
    shortageTried_ = true;
    infeasible_ = provesShortage(problem_, reduction_, reduced_, *memory_);
  }
}

/// One task improves the dual, the other looks for answers.
void Portfolio::searchRound() {
  bool dual = (ingredients_.dual && !branching_) || !best_.exists();
  rounded_ = best_;
  improved_ = {};
  // The tasks must not see each other: what both need is looked at before.
  start_ = dual_->best();
  if (!best_.exists() && !memory_ && dual_->steps() >= kPatience &&
      !reduced_.graph().capacity.empty()) {
    memory_.emplace(reduced_.graph());
  }
  workOnBoth([&] { return dual ? workOnDual(roundWork_) : 0; },
             [&] { return workOnAnswers(roundWork_); });
  if (rounded_.cost < best_.cost) {
    adopt(std::move(rounded_.assignment), rounded_.cost, "rounding");
  }
  if (improved_.exists() && improved_.cost < best_.cost) {
    adopt(std::move(improved_.assignment), improved_.cost, "neighbourhood");
  }
  if (memory_ && !best_.exists()) {
    lookAtMemory();
  }
  if (neighbourhoods_ && dual) {
    for (const Assignment &rounding : roundings_) {
      neighbourhoods_->remember(rounding);
    }
  }
}

/// One round of two tasks. A dual that stalls is restarted while that pays;
/// then branching begins.
void Portfolio::round() {
  if (best_.exists() && !branching_ && dual_->stalled()) {
    restartDual();
  }
  bool branch = ingredients_.branching && best_.exists() &&
                (branching_ || dual_->stalled());
  if (branch && !branching_) {
    branching_.emplace(reduced_.graph(), dual_->best());
  }
  // At the end of the budget there may be too little for a branch.
  if (branch && (!ingredients_.neighbourhoods ||
                 budget_.left() >= 2 * branching_->workOfExpansion())) {
    branchRound();
  } else {
    searchRound();
  }
  ++rounds_;
  roundWork_ = std::min(roundWork_ + roundWork_ / 4, kLastRound);
  report();
}

} // namespace divisi::search
