//===- GridSearch.cpp - The best plan over all grids ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branch and bound, and the branches are the grids: whichever has the least
// bound is looked at more closely, as it alone keeps the answer's bound down.
//
//   1  all devices compute at their pace             no look at the grid
//   2  every operator takes its best strategy        its strategies
//   3  the solver's, on a part of the budget         the planning problem
//   4  the solver's, on what is left                 the same, again
//
// The first good plan then rules out most of the others. Each round looks at
// the two of least bound, on a thread each; what comes of it does not depend on
// who ends first.
//
//===----------------------------------------------------------------------===//

#include "MemoryViews.h"
#include "PlanningInputs.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <thread>
#include <utility>

using namespace mlir;

namespace divisi::plan {

/// Of a budget that is larger, or only ends with time, the rest is for the best
/// grid, once all have been looked at.
static constexpr int64_t kMostForGrids = 20'000'000'000;
/// Parts of what is left of it, for the first look at a problem: to close the
/// last percent of its gap, and until only that is left.
static constexpr int64_t kFirstPercent = 10, kFirstMorePercent = 30;
/// Of the whole budget, what a first look gets at least: one in so many parts.
static constexpr int64_t kLeastPart = 64;
static constexpr double kFairGap = 0.01;
/// Grids that are looked at side by side.
static constexpr size_t kLooks = 2;

namespace {
/// See searchGrids.
class GridSearch {
public:
  GridSearch(const PlanningInputs &inputs, const PlanOptions &options,
             const search::Solver &solver, std::vector<DeviceGrid> grids)
      : inputs_(inputs), options_(options), solver_(solver),
        left_(options.work) {
    for (DeviceGrid &grid : grids) {
      int64_t bound = quickBound(inputs, grid);
      grids_.push_back({std::move(grid), bound});
    }
  }

  Expected<GridAnswer> run();

private:
  /// A grid, and how far it has been looked at.
  struct Candidate {
    DeviceGrid devices;
    int64_t bound = 0; ///< No plan on it takes less, in nanoseconds.
    enum { New, Bounded, Solved, Done } stage = New;
    int64_t work = 0; ///< That the solver did on it.
    MemoryView memory;
    /// What was solved last, if it is to be solved again soon.
    std::optional<PlanningProblem> planning;
  };
  /// One look at a grid, and what comes of it.
  struct Look {
    Candidate &grid;
    search::Options asked;
    bool isFirst = true; ///< Of its round; people are told of this one.
    int64_t bound = 0;   ///< Of a new grid.
    FitOutcome fit;      ///< Of another.
  };

  static bool hasLessBound(const Candidate *a, const Candidate *b) {
    return a->bound < b->bound;
  }
  std::vector<Candidate *> leastBounded(size_t count);
  std::vector<Look> prepareRound();
  void takeAll(std::vector<Look> &looks) const;
  void take(Look &look) const;
  void conclude(Look &look);
  void refine();
  bool isCut() const {
    return stopped_ == search::Stopped::Time ||
           stopped_ == search::Stopped::Interrupted;
  }
  search::Options solverOptions(int64_t work, int64_t moreWork) const;
  search::Wide cutoff(double gap) const;
  bool mayWin(const Candidate &grid, double gap) const;
  PlanningInputs inputsOf(const Candidate &grid) const;
  bool isOpen(const Candidate &grid) const;
  void adopt(Candidate &grid, MemoryView view, FitOutcome fit);
  void forgetProblems(const std::vector<Look> &looks);

  const PlanningInputs &inputs_;
  const PlanOptions &options_;
  const search::Solver &solver_;
  std::vector<Candidate> grids_;
  int64_t left_; ///< Of the budget of work.
  std::optional<GridAnswer> best_;
  Candidate *bestGrid_ = nullptr;
  MemoryView bestView_; ///< With which it was solved.
  int64_t work_ = 0;    ///< Done.
  search::Stopped stopped_ = search::Stopped::Finished;
  /// Of the grid of most devices, if none has a plan.
  std::optional<Status> failure_;
  int64_t failedDevices_ = 0;
};
} // namespace

/// What another plan has to cost less than, if one that is better by less than
/// `gap` is not worth a search.
search::Wide GridSearch::cutoff(double gap) const {
  search::Wide best = best_->outcome.solution.cost;
  return best - search::Wide(gap * double(best));
}

bool GridSearch::mayWin(const Candidate &grid, double gap) const {
  return !best_ || grid.bound < nanosecondsOf(cutoff(gap));
}

PlanningInputs GridSearch::inputsOf(const Candidate &grid) const {
  PlanningInputs inputs = inputs_;
  inputs.devices = grid.devices;
  return inputs;
}

search::Options GridSearch::solverOptions(int64_t work,
                                          int64_t moreWork) const {
  search::Options solver;
  solver.seed = options_.seed;
  // Most of the gap closes soon. Costs are estimates, so closing the last
  // percent gets a part of the budget, and what is left is for more than that.
  solver.work = std::max<int64_t>(work, 1);
  solver.moreWork = moreWork;
  solver.fairGap = kFairGap;
  solver.gap = options_.gap;
  solver.threads = 2;
  solver.stop = options_.control.stop;
  if (options_.control.onProgress) {
    solver.onProgress = [&](search::Progress line) {
      for (std::optional<search::Wide> *cost : {&line.cost, &line.lowerBound}) {
        if (*cost) {
          *cost = nanosecondsOf(**cost);
        }
      }
      options_.control.onProgress(line);
    };
  }
  solver.start = steadySeconds();
  if (options_.control.deadline) {
    solver.timeLimit = *options_.control.deadline - solver.start;
  }
  if (best_) {
    solver.cutoff = cutoff(options_.gap);
  }
  return solver;
}

/// Takes what `fit` has found on `grid`, or keeps why that is nothing.
void GridSearch::adopt(Candidate &grid, MemoryView view, FitOutcome fit) {
  PlanningProblem &planning = *fit.planning;
  search::Outcome &outcome = fit.outcome;
  if (outcome.verdict != search::Verdict::Solved) {
    if (outcome.verdict == search::Verdict::Infeasible) {
      grid.bound = INT64_MAX;
    }
    if (int64_t devices = grid.devices.grid.numPositions();
        devices > failedDevices_) {
      failedDevices_ = devices;
      failure_ = explainNoPlan(inputsOf(grid), options_, planning, outcome);
    }
    return;
  }
  if (!fit.fits()) {
    return;
  }
  if (best_ && best_->outcome.solution.cost <= outcome.solution.cost) {
    return;
  }
  best_ = {grid.devices, std::move(planning), std::move(outcome),
           std::move(fit.use->peaks)};
  bestGrid_ = &grid;
  bestView_ = std::move(view);
}

/// What may run beside another: it changes nothing but `look`.
void GridSearch::take(Look &look) const {
  Candidate &grid = look.grid;
  PlanOptions options = options_;
  if (!look.isFirst) {
    options.control.onProgress = nullptr;
  }
  if (grid.stage == Candidate::New) {
    // The only grid is looked at in any case.
    if (grids_.size() > 1) {
      look.bound = operatorBound(inputs_, grid.devices, options);
    }
    return;
  }
  look.fit = solveView(inputsOf(grid), options, solver_, look.asked,
                       grid.memory, std::exchange(grid.planning, std::nullopt));
}

void GridSearch::conclude(Look &look) {
  Candidate &grid = look.grid;
  FitOutcome &fit = look.fit;
  if (grid.stage == Candidate::New) {
    grid.stage = Candidate::Bounded;
    grid.bound = std::max(grid.bound, look.bound);
    return;
  }
  grid.work += fit.outcome.work;
  left_ -= std::min(left_, fit.outcome.work);
  work_ += fit.outcome.work;
  if (!fit.planning) {
    stopped_ = options_.control.struck();
    if (!failure_) {
      failure_ = cutShort(stopped_, "while the planning problem was built");
    }
    return;
  }
  if (fit.bound) {
    grid.bound = std::max(grid.bound, nanosecondsOf(*fit.bound));
  }
  bool isFinished = fit.outcome.stopped == search::Stopped::Finished;
  if (!isFinished) {
    stopped_ = fit.outcome.stopped;
  }
  if (!fit.fits() && !isCut() && learn(grid.memory, fit)) {
    grid.planning = std::move(fit.planning);
    return;
  }
  if (!fit.fits() && !isCut() && (fit.use || !grid.memory.reserve.empty())) {
    fit.outcome.verdict = search::Verdict::NotFound;
    fit.outcome.time.reset();
    fit.outcome.message = "plans that were tried hold more";
  }
  // Other plans may have less on their way than the one that was guessed after.
  MemoryView view = grid.memory;
  if (view.isGuess) {
    grid.memory = {.detail = view.detail};
  }
  grid.stage = (isFinished && !view.isGuess) || grid.stage == Candidate::Solved
                   ? Candidate::Done
                   : Candidate::Solved;
  adopt(grid, std::move(view), std::move(fit));
}

/// Spends what is left on the grid of the best plan.
void GridSearch::refine() {
  search::Options asked = solverOptions(left_, 0);
  asked.cutoff.reset();
  FitOutcome fit = solveView(inputsOf(*bestGrid_), options_, solver_, asked,
                             bestView_, std::move(best_->planning));
  best_->planning = std::move(*fit.planning);
  work_ += fit.outcome.work;
  stopped_ = fit.outcome.stopped;
  if (fit.bound) {
    bestGrid_->bound = std::max(bestGrid_->bound, nanosecondsOf(*fit.bound));
  }
  if (fit.fits() && fit.outcome.solution.cost <= best_->outcome.solution.cost) {
    best_->peaks = std::move(fit.use->peaks);
    best_->outcome = std::move(fit.outcome);
  }
}

/// A problem that has been solved before is solved again only if it would win
/// by more than a percent, and if that may be found out: from what is left,
/// twice what it has had.
bool GridSearch::isOpen(const Candidate &grid) const {
  switch (grid.stage) {
  case Candidate::New:
  case Candidate::Bounded:
    return mayWin(grid, options_.gap);
  case Candidate::Solved:
    return mayWin(grid, kFairGap) && left_ / 2 > grid.work;
  case Candidate::Done:
    break;
  }
  return false;
}

/// The grids to look at next, none if none may win. What is left of the budget
/// can be spent on one of them alone.
std::vector<GridSearch::Candidate *> GridSearch::leastBounded(size_t count) {
  std::vector<Candidate *> open;
  for (Candidate &grid : grids_) {
    if (isOpen(grid)) {
      open.push_back(&grid);
    }
  }
  llvm::stable_sort(open, hasLessBound);
  open.resize(std::min(open.size(), count));
  auto isSecond = [](const Candidate *grid) {
    return grid->stage == Candidate::Solved;
  };
  if (llvm::any_of(open, isSecond)) {
    open.resize(1);
  }
  return open;
}

std::vector<GridSearch::Look> GridSearch::prepareRound() {
  std::vector<Look> looks;
  int64_t most = std::min(left_, kMostForGrids);
  int64_t first = most * kFirstPercent / 100;
  for (Candidate *grid : leastBounded(kLooks)) {
    search::Options asked =
        grid->stage == Candidate::Solved
            ? solverOptions(first, most - first)
            : solverOptions(std::max(first, options_.work / kLeastPart),
                            most * kFirstMorePercent / 100);
    bool isFirst = looks.empty();
    if (!isFirst) {
      asked.onProgress = nullptr;
    }
    looks.push_back({*grid, std::move(asked), isFirst});
  }
  forgetProblems(looks);
  return looks;
}

/// Problems are large: of grids that wait, those stay that are next.
void GridSearch::forgetProblems(const std::vector<Look> &looks) {
  std::vector<Candidate *> waiting;
  for (Candidate &grid : grids_) {
    if (grid.planning && llvm::none_of(looks, [&](const Look &look) {
          return &look.grid == &grid;
        })) {
      waiting.push_back(&grid);
    }
  }
  llvm::stable_sort(waiting, hasLessBound);
  for (Candidate *grid :
       llvm::drop_begin(waiting, std::min(waiting.size(), kLooks))) {
    grid->planning.reset();
  }
}

void GridSearch::takeAll(std::vector<Look> &looks) const {
  std::vector<std::thread> threads;
  for (Look &look : llvm::drop_begin(looks)) {
    threads.emplace_back([&] { take(look); });
  }
  take(looks.front());
  for (std::thread &thread : threads) {
    thread.join();
  }
}

Expected<GridAnswer> GridSearch::run() {
  while (!isCut()) {
    std::vector<Look> looks = prepareRound();
    if (looks.empty()) {
      break;
    }
    takeAll(looks);
    for (Look &look : looks) {
      conclude(look);
    }
  }
  if (!best_) {
    return *failure_;
  }
  auto gap = [&] {
    return search::relativeGap(best_->outcome.solution.cost,
                               best_->outcome.solution.lowerBound);
  };
  if (!isCut() && left_ > kMostForGrids && gap() > options_.gap) {
    refine();
  }
  if (auto wrong =
          search::check(best_->planning.problem, best_->outcome.solution)) {
    return Status(ExitCode::Internal, "the solver's plan is wrong: " + *wrong);
  }
  best_->lowerBound = nanosecondsOf(best_->outcome.solution.cost);
  for (const Candidate &grid : grids_) {
    best_->lowerBound = std::min(best_->lowerBound, grid.bound);
  }
  bool isClosed = best_->lowerBound >= nanosecondsOf(cutoff(options_.gap));
  best_->outcome.stopped =
      isClosed && !isCut() ? search::Stopped::Finished : stopped_;
  best_->outcome.work = work_;
  return std::move(*best_);
}

Expected<GridAnswer> searchGrids(const PlanningInputs &inputs,
                                 const PlanOptions &options,
                                 const search::Solver &solver,
                                 std::vector<DeviceGrid> grids) {
  return GridSearch(inputs, options, solver, std::move(grids)).run();
}

} // namespace divisi::plan
