//===- MemoryViews.h - What a problem knows of memory -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A limit is for all that a device holds, and that is known of a plan that has
// been lowered; a problem counts tensors. Most plans fit without being asked
// to, and what takes memory only for a while makes problems large. So a grid is
// solved in steps:
//
//   None      nothing is limited
//   Resting   what rests
//   All       everything
//
// the last two under limits of a ladder, until one has a plan that fits and the
// next has one that does not:
//
//   limit 100    step -1, 99    planned 96    held 110
//                step -4, 91    planned 88    held  99    fits
//
// The rungs of the ladder are the same for all limits, and none is left out on
// the way down but those on which the plan before would be found again. So more
// memory finds what less memory finds. As solvers may miss the best plan of a
// rung, two more are tried. Large problems take a shorter way. What is said of
// all plans within the limits is said of a problem that counts only what every
// program holds, under the limits themselves: either by the prices and
// potentials of another view, or by solving that one (MemoryView::isLeast).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_MEMORYVIEWS_H
#define DIVISI_LIB_PLAN_MEMORYVIEWS_H

#include "PlanningInputs.h"

namespace divisi::plan {

/// What of memory a problem is solved with.
struct MemoryView {
  MemoryDetail detail = MemoryDetail::None; ///< What of it is counted.
  bool isLeast = false; ///< Only what every program holds, under the limits.
  int step = 0;         ///< See Ladder.
};

/// Limits to plan for in place of others: the same for all of them.
class Ladder {
public:
  /// With so many rungs from a limit to its double.
  explicit Ladder(double toDouble) : toDouble_(toDouble) {}

  /// `limit` itself at step 0; the rungs below it from step -1 on, those above
  /// it from step 1 on.
  int64_t limitAt(int64_t limit, int step) const;
  /// The highest step but 0 whose limit is not above `bytes`.
  int stepAt(int64_t limit, int64_t bytes) const;
  /// How many steps `bytes` are above `limit`.
  double stepsAbove(int64_t limit, int64_t bytes) const;

private:
  int64_t rung(int64_t index) const;
  int64_t indexOf(int64_t limit) const;

  double toDouble_;
};

/// What devices hold at the fullest time, as planned: all tensors.
struct PlannedMemory {
  std::vector<int64_t> peaks; ///< For each kind of devices.
  std::vector<int64_t> seen;  ///< Of these, what the problem counts.
  std::vector<int64_t> least; ///< Of these, what every program holds.
};

/// A problem that was solved, and its answer.
struct FitOutcome {
  std::shared_ptr<PlanningProblem> planning; ///< Null if it was cut short.
  search::Outcome outcome;                   ///< The answer, with its bound.
  std::optional<PlannedMemory> use;          ///< Of the plan, if there is one.
  /// Proved of all plans within the limits, also of those that
  /// PlanningProblem::below leaves out; of costs, as the outcome's.
  std::optional<search::Wide> bound;

  /// Whether there is a plan, which may hold too much.
  bool hasPlan() const { return use.has_value(); }
};

/// How a problem is solved, beside what the solver is asked.
struct ViewRequest {
  MemoryView view; ///< How.
  Ladder ladder;   ///< On which its step is.
  /// What an earlier view was solved with, or null.
  std::shared_ptr<PlanningProblem> known;
  /// Whether limits are for what programs hold, not for what is planned.
  bool isMeasured = false;
  /// As in ProblemRequest, of a problem that is not known yet.
  std::optional<int64_t> below;
  int64_t least = 0;
  /// Of earlier problems, if any.
  KeptRouters *routers = nullptr;
};

/// Solves the problem of `inputs` as `request` says.
FitOutcome solveView(const PlanningInputs &inputs, const PlanOptions &options,
                     const search::Solver &solver,
                     const search::Options &solverOptions, ViewRequest request);

/// What is wrong with an answer of the problem that `request` knows, or
/// nothing.
std::optional<std::string> checkView(const PlanningInputs &inputs,
                                     const PlanOptions &options,
                                     const ViewRequest &request,
                                     const search::Solution &solution);

/// What a view has come to.
struct ViewResult {
  bool hasPlan = false;   ///< Otherwise there is none, or none was found.
  bool fits = false;      ///< The plan does.
  bool isUseless = false; ///< It takes no less time than another that fits.
  /// By how many steps it holds more than the limit, or less.
  double excess = 0;
  /// The highest step on which it would not be found again.
  int below = 0;
  /// The step on which a plan would fit that holds as much beside what is
  /// counted: by the view's problem, and where all tensors are counted.
  int wanted = 0, wantedOfAll = 0;
};

/// Which views of a grid are tried, one after the other.
class ViewSearch {
public:
  /// Problems that are large are solved seldom. A plan that is not measured
  /// fits where all its tensors do. `isTight`: without a limit none would fit.
  ViewSearch(bool isLarge, bool isMeasured, bool isTight);
  /// Asks first whether any plan may fit.
  void probe();
  /// Of globals alone, within the limits.
  static ViewSearch ofGlobals() {
    ViewSearch search(/*isLarge=*/true, /*isMeasured=*/false,
                      /*isTight=*/false);
    search.view_ = {.detail = MemoryDetail::Globals};
    return search;
  }

  /// The one to try now.
  const MemoryView &view() const { return view_; }
  /// On which its steps are.
  Ladder ladder() const { return Ladder(isLarge_ ? 64 : 24); }
  /// Whether it is one of many that are tried.
  bool isOneOfMany() const {
    return isMeasured_ && !isLarge_ && view_.detail != MemoryDetail::None;
  }
  /// Whether it is only asked whether any plan may fit, with hardly any work.
  bool isProbe() const { return isProbe_; }
  /// Goes on from what the view has come to; false if nothing is left to try.
  bool next(const ViewResult &result);

private:
  bool begin(MemoryDetail detail, int step);
  bool goOn(const ViewResult &result);
  bool lookSafely(const ViewResult &result);
  bool walk(const ViewResult &result);
  bool climb(const ViewResult &result);
  bool descend(const ViewResult &result);
  bool nextDetail(int wantedOfAll);
  int wantedNow(const ViewResult &result) const;

  bool isLarge_, isMeasured_;
  bool isProbe_ = false;
  bool isSafe_ = false; ///< Far below the limit, for a plan that fits soon.
  std::optional<int> floor_; ///< The step of that plan.
  int tail_ = 0; ///< Rungs tried from the first on which a plan fits.
  int top_;      ///< Where the way down begins.
  MemoryView view_, afterProbe_;
  /// Steps of this detail: the highest with a plan that fits, the lowest with
  /// one that holds too much, the highest without any.
  std::optional<int> fits_, over_, none_;
  /// The plan before this one: its step, and ViewResult::excess.
  std::optional<std::pair<int, double>> last_;
  int tries_ = 0;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_MEMORYVIEWS_H
