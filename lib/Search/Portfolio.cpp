//===- Portfolio.cpp - Rounds of the default solver -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Portfolio.h"

#include "lib/Search/Branching/BranchAndBound.h"
#include "lib/Search/Certify/Certifier.h"
#include "lib/Search/Feasibility/Infeasible.h"
#include "lib/Search/Feasibility/MemoryFirst.h"
#include "lib/Search/Neighbourhoods/Neighbourhoods.h"
#include "lib/Search/Reduction/ReducedGraph.h"
#include "lib/Search/Run/Announcer.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace divisi::search {

/// Rounds grow from the first to the last, in entries of tables: a fiftieth of
/// a second or so, that the first answers are seen early.
static constexpr int64_t kFirstRound = 1'000'000, kLastRound = 60'000'000;
/// Steps of the dual without an answer, before memory comes first.
static constexpr int64_t kPatience = 64;
/// A restart of the dual aims at this part of the gap, and pays if the last one
/// closed that much of it.
static constexpr double kRestartAmbition = 0.3, kRestartGain = 0.1;
/// Neighbourhoods in vain, after which they get less time than branching.
static constexpr int64_t kFailures = 100;

/// What an entry costs to certify, and to check, against a pass of messages.
static constexpr double kCertifying = 4, kChecking = 6;

namespace {

class Portfolio {
public:
  Portfolio(const Problem &problem, const Options &options,
            Ingredients ingredients)
      : problem_(problem), options_(options), ingredients_(ingredients),
        budget_(options), moreWork_(options.moreWork),
        announcer_(options, budget_) {}
  Outcome run();

private:
  bool stopped() const;
  void round();
  int64_t workOnDual(int64_t work);
  int64_t workOnAnswers(int64_t work);
  void workOnBoth(const std::function<int64_t()> &first,
                  const std::function<int64_t()> &second);
  void consider(const Assignment &assignment, Value value);
  void adopt(Assignment assignment, double cost, std::string_view by);
  void report();
  bool proved() const;
  bool goesOn();
  bool isExhausted() const;
  double bound() const;
  void restartDual();
  void lookAtMemory();
  void searchRound();
  void branchRound();
  double certifyingTime() const;
  void certify(Outcome &outcome);
  Outcome finish();

  const Problem &problem_;
  const Options &options_;
  Ingredients ingredients_;
  Budget budget_;
  int64_t moreWork_; ///< Of Options::moreWork, what is left.
  Announcer announcer_;
  Reduction reduction_;
  ReducedGraph reduced_;
  std::optional<Lagrangian> dual_;
  std::optional<MemoryFirst> memory_;
  std::optional<Neighbourhoods> neighbourhoods_;
  std::optional<BranchAndBound> branching_;
  Incumbent best_;
  Solution solution_;                                    ///< Of best_, exactly.
  std::vector<std::pair<Assignment, Value>> candidates_; ///< Of task one.
  std::vector<Assignment> roundings_;
  Incumbent improved_; ///< Of task two.
  DualPoint start_;    ///< What task two sees of task one.
  int64_t roundWork_ = kFirstRound;
  double boundAtRestart_ = -std::numeric_limits<double>::infinity();
  int64_t wholeEntries_ = 0; ///< Of the tables that a certificate covers.
  double startedAt_ = 0;     ///< When the first round began, in seconds.
  double reserve_ = 0;       ///< Seconds kept for the certificate.
  int rounds_ = 0;
  bool infeasible_ = false, shortageTried_ = false;
};

} // namespace

/// As tasks ask: the clock and the flag, but not the work, which would depend
/// on which task is ahead.
bool Portfolio::stopped() const {
  return (options_.stop && options_.stop->load(std::memory_order_relaxed)) ||
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

double Portfolio::bound() const {
  return branching_ ? branching_->bound() : dual_->best().bound;
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

void Portfolio::consider(const Assignment &assignment, Value value) {
  double best =
      candidates_.empty() ? best_.cost : candidates_.back().second.cost;
  if (value.feasible() && value.cost < best) {
    candidates_.emplace_back(assignment, value);
  }
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
    consider(dual_->forwardTaken(), dual_->forwardValue());
    consider(dual_->backwardTaken(), dual_->backwardValue());
    if (!best_.exists() && !candidates_.empty()) {
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
  if (options_.threads > 1) {
    std::thread thread([&] { alsoDone = second(); });
    done = first();
    thread.join();
  } else {
    done = first();
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
  candidates_.clear();
  improved_ = {};
  // The tasks must not see each other: what both need is looked at before.
  start_ = dual_->best();
  if (!best_.exists() && !memory_ && dual_->steps() >= kPatience &&
      !reduced_.graph().capacity.empty()) {
    memory_.emplace(reduced_.graph());
  }
  workOnBoth([&] { return dual ? workOnDual(roundWork_) : 0; },
             [&] { return workOnAnswers(roundWork_); });
  if (!candidates_.empty()) {
    auto [assignment, value] = std::move(candidates_.back());
    adopt(std::move(assignment), value.cost, "rounding");
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

/// Replaces the bound by what a certificate proves.
void Portfolio::certify(Outcome &outcome) {
  Certifier certifier(problem_, reduction_, reduced_, best_.cost);
  Certificate certificate = certifier.begin();
  certificate.cutoff = solution_.cost;
  if (branching_) {
    branching_->certify(certifier, certificate, options_.threads);
  } else {
    certificate.tree.push_back(certifier.makeNode(dual_->best()));
  }
  // Checking takes memory of its own. What refers to the graph goes first.
  branching_.reset();
  dual_.reset();
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
                    : options_.stop && options_.stop->load()
                        ? Stopped::Interrupted
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
  if (ingredients_.start) {
    Assignment start =
        contract(reduction_, reduced_, ingredients_.start->assignment);
    double cost = costOf(reduced_.graph(), start);
    adopt(std::move(start), cost, "start");
    dual_->step(best_.cost); // Neighbourhoods look at its messages.
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
