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
// The first good plan then rules out most of the others.
//
//===----------------------------------------------------------------------===//

#include "FitMemory.h"
#include "Setting.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;

namespace divisi::plan {

//===----------------------------------------------------------------------===//
// Bounds without a problem
//===----------------------------------------------------------------------===//

/// What `site` takes at least on the devices of `pace`, however it is split:
/// together they do the arithmetic, and write the results. What may be fused is
/// neither written nor launched.
static double leastNanoseconds(const Site &site, const Grid &grid,
                               const GridPace &pace) {
  // What computes nothing may be a view.
  if (site.nest.flopsPerPoint == 0) {
    return 0;
  }
  Grid one;
  Split whole = Split::replicated(site.nest);
  double flops = localFlops(site.nest, one, whole);
  double written = 0;
  FusedEnds fusible = site.fusibleOn(pace);
  for (auto [number, result] : llvm::enumerate(site.nest.results)) {
    if (!llvm::is_contained(fusible.results, number)) {
      written += double(localBytes(one, Layout::replicated(result.shape.size()),
                                   result.shape, site.profile.results[number]));
    }
  }
  double flopsPerSecond = 0, bytesPerSecond = 0;
  int64_t launch = fusible.operands.empty() ? INT64_MAX : 0;
  for (const auto &[kind, part] : pace.parts) {
    double devices = double(part.numPositions(grid));
    flopsPerSecond += devices * kind.flopsPerSecond(site.profile.precision);
    bytesPerSecond += devices * kind.memoryBytesPerSecond;
    launch = std::min(launch, kind.launchNanoseconds);
  }
  return double(launch) +
         1e9 * std::max(flops / flopsPerSecond, written / bytesPerSecond);
}

int64_t quickBound(const Setting &setting, const DeviceGrid &grid) {
  GridPace pace = setting.paceOf(grid);
  double sum = 0;
  for (const Site &site : setting.dataflow.sites) {
    sum += leastNanoseconds(site, grid.grid, pace);
  }
  return int64_t(sum);
}

int64_t operatorBound(const Setting &setting, const DeviceGrid &grid,
                      const PlanOptions &options) {
  LayoutPool pool;
  ChoiceMaker maker(grid.grid, setting.paceOf(grid),
                    {grid.roles, options.maxStrategies}, pool);
  int64_t sum = 0;
  for (const Site &site : setting.dataflow.sites) {
    sum += maker.leastNanoseconds(site);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Of a budget that is larger, or only ends with time, the rest is for the best
/// grid, once all have been looked at.
static constexpr int64_t kMostForGrids = 20'000'000'000;
/// Parts of what is left of it, for the first look at a problem: to close the
/// last percent of its gap, and until only that is left.
static constexpr int64_t kFirstPercent = 10, kFirstMorePercent = 30;
/// Of the whole budget, what a first look gets at least: one in so many parts.
static constexpr int64_t kLeastPart = 64;
static constexpr double kFairGap = 0.01;

namespace {
/// See searchGrids.
class GridSearch {
public:
  GridSearch(Setting &setting, const PlanOptions &options,
             const search::Solver &solver, std::vector<DeviceGrid> grids)
      : setting_(setting), options_(options), solver_(solver),
        left_(options.work) {
    for (DeviceGrid &grid : grids) {
      int64_t bound = quickBound(setting, grid);
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
  };

  Candidate *leastBounded();
  Status lookAt(Candidate &grid);
  Status solve(Candidate &grid, int64_t work, int64_t moreWork);
  Status refine();
  bool isCut() const {
    return stopped_ == search::Stopped::Time ||
           stopped_ == search::Stopped::Interrupted;
  }
  search::Options solverOptions(int64_t work, int64_t moreWork) const;
  search::Wide cutoff(double gap) const;
  bool mayWin(const Candidate &grid, double gap) const;
  bool isOpen(const Candidate &grid) const;
  Status adopt(Candidate &grid, FitOutcome fit);

  Setting &setting_;
  const PlanOptions &options_;
  const search::Solver &solver_;
  std::vector<Candidate> grids_;
  int64_t left_; ///< Of the budget of work.
  std::optional<GridAnswer> best_;
  Candidate *bestGrid_ = nullptr;
  int64_t work_ = 0; ///< Done.
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

static Status checkPlan(const PlanningProblem &planning,
                        const search::Outcome &outcome) {
  auto wrong = search::check(planning.problem, outcome.solution);
  return wrong ? Status(ExitCode::Internal,
                        "the solver's plan is wrong: " + *wrong)
               : Status();
}

Status GridSearch::adopt(Candidate &grid, FitOutcome fit) {
  PlanningProblem &planning = *fit.planning;
  search::Outcome &outcome = fit.outcome;
  if (outcome.verdict != search::Verdict::Solved) {
    if (outcome.verdict == search::Verdict::Infeasible) {
      grid.bound = INT64_MAX;
    }
    if (int64_t devices = grid.devices.grid.numPositions();
        devices > failedDevices_) {
      failedDevices_ = devices;
      failure_ = explainNoPlan(setting_, options_, planning, outcome);
    }
    return Status();
  }
  if (!fit.fits) {
    return Status();
  }
  if (best_ && best_->outcome.solution.cost <= outcome.solution.cost) {
    return Status();
  }
  if (Status status = checkPlan(planning, outcome); !status.isOk()) {
    return status;
  }
  best_ = {grid.devices, std::move(planning), std::move(outcome),
           std::move(fit.peaks)};
  bestGrid_ = &grid;
  return Status();
}

Status GridSearch::solve(Candidate &grid, int64_t work, int64_t moreWork) {
  setting_.devices = grid.devices;
  FitOutcome fit =
      solveWithinMemory(setting_, options_, solver_,
                        solverOptions(work, moreWork), grid.memory, [&] {
                          grid.bound = std::max(grid.bound, grid.memory.bound);
                          return mayWin(grid, options_.gap);
                        });
  grid.work += fit.work;
  left_ -= std::min(left_, fit.work);
  work_ += fit.work;
  grid.bound = std::max(grid.bound, grid.memory.bound);
  if (!fit.planning) {
    stopped_ = options_.control.struck();
    return best_ ? Status()
                 : cutShort(stopped_, "while the planning problem was built");
  }
  if (fit.outcome.stopped == search::Stopped::Finished) {
    grid.stage = Candidate::Done;
  } else {
    stopped_ = fit.outcome.stopped;
  }
  return adopt(grid, std::move(fit));
}

/// Spends what is left on the grid of the best plan.
Status GridSearch::refine() {
  search::Options solver = solverOptions(left_, 0);
  solver.cutoff.reset();
  search::Outcome outcome = solver_.solve(best_->planning.problem, solver);
  work_ += outcome.work;
  stopped_ = outcome.stopped;
  if (outcome.verdict != search::Verdict::Solved ||
      outcome.solution.cost > best_->outcome.solution.cost) {
    return Status();
  }
  if (bestGrid_->memory.reserve.empty()) {
    bestGrid_->bound =
        std::max(bestGrid_->bound, nanosecondsOf(outcome.solution.lowerBound));
  }
  setting_.devices = bestGrid_->devices;
  MemoryUse use = memoryOf(setting_, options_, best_->planning,
                           outcome.solution.assignment);
  if (!use.fits()) {
    return Status();
  }
  if (Status status = checkPlan(best_->planning, outcome); !status.isOk()) {
    return status;
  }
  best_->peaks = std::move(use.peaks);
  best_->outcome = std::move(outcome);
  return Status();
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

/// The grid to look at next, or null if none may win.
GridSearch::Candidate *GridSearch::leastBounded() {
  Candidate *least = nullptr;
  for (Candidate &grid : grids_) {
    if (isOpen(grid) && (!least || grid.bound < least->bound)) {
      least = &grid;
    }
  }
  return least;
}

Status GridSearch::lookAt(Candidate &grid) {
  int64_t most = std::min(left_, kMostForGrids);
  switch (grid.stage) {
  case Candidate::New:
    grid.stage = Candidate::Bounded;
    if (grids_.size() > 1) {
      grid.bound =
          std::max(grid.bound, operatorBound(setting_, grid.devices, options_));
    }
    return Status();
  case Candidate::Bounded:
    grid.stage = Candidate::Solved;
    return solve(
        grid, std::max(most * kFirstPercent / 100, options_.work / kLeastPart),
        most * kFirstMorePercent / 100);
  case Candidate::Solved:
    grid.stage = Candidate::Done;
    return solve(grid, most * kFirstPercent / 100,
                 most - most * kFirstPercent / 100);
  case Candidate::Done:
    break;
  }
  return Status();
}

Expected<GridAnswer> GridSearch::run() {
  while (!isCut()) {
    Candidate *next = leastBounded();
    if (!next) {
      break;
    }
    if (Status status = lookAt(*next); !status.isOk()) {
      return status;
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
    if (Status status = refine(); !status.isOk()) {
      return status;
    }
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

Expected<GridAnswer> searchGrids(Setting &setting, const PlanOptions &options,
                                 const search::Solver &solver,
                                 std::vector<DeviceGrid> grids) {
  return GridSearch(setting, options, solver, std::move(grids)).run();
}

} // namespace divisi::plan
