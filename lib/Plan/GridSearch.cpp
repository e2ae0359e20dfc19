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

#include "GridSearch.h"
#include "divisi/Support/Thread.h"

#include "llvm/ADT/STLExtras.h"

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
/// The same of one of many: no more.
static constexpr int64_t kManyPart = 200;
/// Grids that win seldom may take as much as the others took, but between so
/// much and so much, in work; to build a problem takes so much of it by matrix
/// entry, most of it for routes.
static constexpr int64_t kLeastForMore = 200'000'000;
static constexpr int64_t kMostForMore = 2'000'000'000;
static constexpr int64_t kWorkByEntry = 300;
/// Grids that are looked at side by side.
static constexpr size_t kLooks = 2;

GridSearch::GridSearch(const PlanningInputs &inputs, const PlanOptions &options,
                       const search::Solver &solver,
                       const PlanMeasurer &measurer,
                       const std::vector<DeviceGrid> &grids)
    : inputs_(inputs), options_(options), solver_(solver), measurer_(measurer),
      deadline_(options.control.deadline), left_(options.work) {
  for (const DeviceGrid &grid : grids) {
    Candidate candidate = {grid, beginViews(grid)};
    candidate.bound = quickBound(inputs, candidate.devices);
    candidate.view = candidate.memory.view();
    grids_.push_back(std::move(candidate));
  }
}

/// What another plan has to cost less than, if one that is better by less than
/// `gap` is not worth a search.
search::Wide GridSearch::cutoff(double gap) const {
  search::Wide best = takenBy(best_->outcome);
  return best - search::Wide(gap * double(best));
}

bool GridSearch::mayWin(const Candidate &grid, double gap) const {
  bool isWanted =
      !options_.control.wanted || grid.bound < *options_.control.wanted;
  return isWanted && (!best_ || grid.bound < nanosecondsOf(cutoff(gap)));
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

bool GridSearch::isBetter(const search::Outcome &outcome) const {
  return !best_ || takenBy(outcome) < takenBy(best_->outcome);
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
  ViewRequest request = {grid.view, grid.memory.ladder(),
                         std::move(grid.planning), measurer_.isAble()};
  // Those of large problems take much memory.
  if (grids_.size() > 1 && !isLarge()) {
    request.routers = routers_.get();
  }
  if (best_) {
    request.below = nanosecondsOf(takenBy(best_->outcome));
    request.least = grid.least;
  }
  look.fit = solveView(inputsOf(grid), options, solver_, look.asked,
                       std::move(request));
}

/// Building a problem takes time that no solver counts as work.
void GridSearch::spend(const Look &look) {
  int64_t work = look.fit.outcome.work;
  if (look.fit.planning && !look.isBuilt) {
    for (const search::Matrix &matrix : look.fit.planning->problem.matrices) {
      work += kWorkByEntry * int64_t(matrix.entries.size());
    }
  }
  spent_ += work;
  if (look.grid.devices.isMore && leftForMore_) {
    *leftForMore_ -= work;
  }
}

void GridSearch::conclude(Look &look) {
  Candidate &grid = look.grid;
  FitOutcome &fit = look.fit;
  spend(look);
  if (grid.stage == Candidate::New) {
    grid.stage = Candidate::Bounded;
    grid.least = look.bound;
    grid.bound = std::max(grid.bound, look.bound);
    return;
  }
  grid.work += fit.outcome.work;
  left_ -= std::min(left_, fit.outcome.work);
  work_ += fit.outcome.work;
  if (!fit.planning) {
    stopped_ = options_.control.struck();
    return;
  }
  if (fit.bound) {
    grid.bound = std::max(grid.bound, nanosecondsOf(*fit.bound));
  }
  bool isFinished = fit.outcome.stopped == search::Stopped::Finished;
  if (!isFinished) {
    stopped_ = fit.outcome.stopped;
  }
  take(grid, fit, isFinished);
}

/// Spends what is left on the grid of the best plan.
void GridSearch::refine() {
  Candidate &grid = *bestGrid_;
  search::Options asked = solverOptions(left_, 0);
  asked.cutoff.reset();
  grid.view = bestView_;
  FitOutcome fit = solveView(
      inputsOf(grid), options_, solver_, asked,
      {grid.view, grid.memory.ladder(), best_->planning, measurer_.isAble()});
  work_ += fit.outcome.work;
  stopped_ = fit.outcome.stopped;
  if (fit.bound) {
    grid.bound = std::max(grid.bound, nanosecondsOf(*fit.bound));
  }
  ViewResult result;
  if (fit.hasPlan() && isBetter(fit.outcome) && fits(grid, fit, result)) {
    adopt(grid, std::move(fit));
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

std::vector<GridSearch::Candidate *> GridSearch::openGrids(bool isMore) {
  std::vector<Candidate *> open;
  for (Candidate &grid : grids_) {
    if (grid.devices.isMore == isMore && isOpen(grid)) {
      open.push_back(&grid);
    }
  }
  return open;
}

/// Of those that win seldom. Problems on one axis less are solved ten times as
/// fast, and the plans that they give rule others out.
std::vector<GridSearch::Candidate *> GridSearch::openMore() {
  std::vector<Candidate *> open = openGrids(/*isMore=*/true);
  auto isDear = [](const Candidate *grid) {
    return grid->devices.grid.numAxes() >= size_t(kMostAxes);
  };
  if (!llvm::all_of(open, isDear)) {
    llvm::erase_if(open, isDear);
  }
  return open;
}

/// The grids to look at next, none if none may win. What is left of the budget
/// can be spent on one of them alone.
std::vector<GridSearch::Candidate *> GridSearch::leastBounded(size_t count) {
  std::vector<Candidate *> open = openGrids(/*isMore=*/false);
  if (open.empty()) {
    if (!leftForMore_) {
      // What is not counted as work takes longest where problems are large.
      leftForMore_ =
          isLarge() ? 0 : std::clamp(spent_, kLeastForMore, kMostForMore);
    }
    if (*leftForMore_ > 0) {
      open = openMore();
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

/// What the solver may spend on the next problem of `grid`.
search::Options GridSearch::askedOf(const Candidate &grid) const {
  // As much of a budget that only ends with time as of one without.
  int64_t whole = std::min(options_.work, kMostForGrids);
  int64_t most = std::min(left_, kMostForGrids);
  int64_t first = most * kFirstPercent / 100;
  if (grid.memory.isProbe()) {
    return solverOptions(1, 0);
  }
  if (grid.stage == Candidate::Solved) {
    return solverOptions(first, most - first);
  }
  if (grid.devices.isMore && leftForMore_) {
    return solverOptions(std::min(first, *leftForMore_), 0);
  }
  if (grid.memory.isOneOfMany()) {
    return solverOptions(whole / kManyPart, 2 * (whole / kManyPart));
  }
  return solverOptions(std::max(first, whole / kLeastPart),
                       most * kFirstMorePercent / 100);
}

/// Whether it will be told by how much memory is too small, if it is.
bool GridSearch::explains(const Candidate &grid) const {
  return options_.control.explains && !best_ && !failure_.hasShortage() &&
         isAtLimits(grid);
}

std::vector<GridSearch::Look> GridSearch::prepareRound() {
  std::vector<Look> looks;
  for (Candidate *grid : leastBounded(kLooks)) {
    search::Options asked = askedOf(*grid);
    asked.explains = explains(*grid);
    bool isFirst = looks.empty();
    if (!isFirst) {
      asked.onProgress = nullptr;
    }
    looks.push_back(
        {*grid, std::move(asked), isFirst, grid->planning != nullptr});
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
  std::vector<Thread> threads;
  for (Look &look : llvm::drop_begin(looks)) {
    auto thread = Thread::start("a grid", [&] { take(look); });
    if (thread) {
      threads.push_back(std::move(*thread));
    } else {
      take(look);
    }
  }
  take(looks.front());
}

/// Whether nothing is said of it: it wins seldom, and still may.
bool GridSearch::isLeftOut(const Candidate &grid) const {
  return grid.devices.isMore && grid.stage != Candidate::Done &&
         mayWin(grid, options_.gap);
}

/// What no plan takes less than on any of the grids but those that are left
/// out, in nanoseconds.
int64_t GridSearch::boundOfAll() const {
  int64_t bound = INT64_MAX;
  for (const Candidate &grid : grids_) {
    if (!isLeftOut(grid)) {
      bound = std::min(bound, grid.bound);
    }
  }
  return bound;
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
    return failure_.status(inputs_.cluster, options_, stopped_,
                           boundOfAll() == INT64_MAX);
  }
  // Bounds are of sums: they prove nothing of a plan that was simulated.
  auto isClosed = [&] {
    return !best_->outcome.timed &&
           boundOfAll() >= nanosecondsOf(cutoff(options_.gap));
  };
  if (!isCut() && left_ > kMostForGrids && !isClosed()) {
    refine();
  }
  if (measurer_.canSimulate() && options_.judge == "simulated" && !isCut()) {
    judge();
  }
  const search::Solution &solution = best_->outcome.solution;
  if (auto wrong = checkView(
          inputsOf(*bestGrid_), options_,
          {bestView_, bestGrid_->memory.ladder(), best_->planning}, solution)) {
    return Status(ExitCode::Internal, "the solver's plan is wrong: " + *wrong);
  }
  best_->lowerBound = std::min(nanosecondsOf(solution.cost), boundOfAll());
  best_->outcome.stopped =
      isClosed() && !isCut() ? search::Stopped::Finished : stopped_;
  best_->outcome.work = work_;
  best_->gridsLeftOut = llvm::count_if(
      grids_, [&](const Candidate &grid) { return isLeftOut(grid); });
  best_->capped = capped_;
  return std::move(*best_);
}

Expected<GridAnswer> searchGrids(const PlanningInputs &inputs,
                                 const PlanOptions &options,
                                 const search::Solver &solver,
                                 const PlanMeasurer &measurer,
                                 const std::vector<DeviceGrid> &grids) {
  return GridSearch(inputs, options, solver, measurer, grids).run();
}

} // namespace divisi::plan
