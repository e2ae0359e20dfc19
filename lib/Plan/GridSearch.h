//===- GridSearch.h - Branch and bound over grids ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GridSearch.cpp has the rounds, GridMemory.cpp what is made of the answers,
// JudgePlans.cpp which of the best plans is taken.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_GRIDSEARCH_H
#define DIVISI_LIB_PLAN_GRIDSEARCH_H

#include "MeasurePlan.h"

namespace divisi::plan {

/// See searchGrids. Used once.
class GridSearch {
public:
  /// All but `grids` must outlive it.
  GridSearch(const PlanningInputs &inputs, const PlanOptions &options,
             const search::Solver &solver, const PlanMeasurer &measurer,
             const std::vector<DeviceGrid> &grids);

  /// Searches until no grid may win, or something ends it.
  Expected<GridAnswer> run();

private:
  /// A grid, and how far it has been looked at.
  struct Candidate {
    DeviceGrid devices;
    ViewSearch memory;
    int64_t bound = 0; ///< No plan on it takes less, in nanoseconds.
    int64_t least = 0; ///< operatorBound, once it is known.
    enum { New, Bounded, Solved, Done } stage = New;
    int64_t work = 0; ///< That the solver did on it.
    MemoryView view;  ///< With which it is solved next.
    /// The last one with a plan that fits.
    std::optional<MemoryView> fitting;
    /// What was solved last, if it is to be solved again soon.
    std::shared_ptr<PlanningProblem> planning;
  };
  /// One look at a grid, and what comes of it.
  struct Look {
    Candidate &grid;
    search::Options asked;
    bool isFirst = true;  ///< Of its round; people are told of this one.
    bool isBuilt = false; ///< Its problem is there already.
    int64_t bound = 0;    ///< Of a new grid.
    FitOutcome fit;       ///< Of another.
  };

  /// A plan of the search, for the judge.
  struct MetPlan {
    Candidate *grid = nullptr;
    MemoryView view; ///< With which it was found.
    FitOutcome fit;  ///< Devices need not hold it.
  };

  bool isLarge() const;
  ViewSearch beginViews(const DeviceGrid &devices) const;
  static bool hasLessBound(const Candidate *a, const Candidate *b) {
    return a->bound < b->bound;
  }
  std::vector<Candidate *> openGrids(bool isMore);
  std::vector<Candidate *> openMore();
  std::vector<Candidate *> leastBounded(size_t count);
  bool isLeftOut(const Candidate &grid) const;
  void spend(const Look &look);
  std::vector<Look> prepareRound();
  void takeAll(std::vector<Look> &looks) const;
  void take(Look &look) const;
  void conclude(Look &look);
  int64_t boundOfAll() const;
  void refine();
  bool isCut() const {
    return stopped_ == search::Stopped::Time ||
           stopped_ == search::Stopped::Interrupted;
  }
  search::Options solverOptions(int64_t work, int64_t moreWork) const;
  search::Options askedOf(const Candidate &grid) const;
  search::Wide cutoff(double gap) const;
  static search::Wide takenBy(const search::Outcome &outcome) {
    return outcome.timed.value_or(outcome.solution.cost);
  }
  void meet(Candidate &grid, const FitOutcome &fit);
  std::optional<MetPlan> refined();
  void judge();
  bool isBetter(const search::Outcome &outcome) const;
  bool mayWin(const Candidate &grid, double gap) const;
  bool isWorthwhile(const Candidate &grid) const;
  PlanningInputs inputsOf(const Candidate &grid) const;
  bool isOpen(const Candidate &grid) const;
  bool isAtLimits(const Candidate &grid) const;
  bool explains(const Candidate &grid) const;
  int belowOf(const Candidate &grid, const FitOutcome &fit) const;
  bool fits(const Candidate &grid, const FitOutcome &fit, ViewResult &result);
  void take(Candidate &grid, FitOutcome &fit, bool isFinished);
  void adopt(Candidate &grid, FitOutcome fit);
  void leaveTime();
  void forgetProblems(const std::vector<Look> &looks);

  /// The last percent of a gap gets a part of the budget.
  static constexpr double kFairGap = 0.01;
  const PlanningInputs &inputs_;
  PlanOptions options_; ///< Whose deadline leaves time for what comes after.
  const search::Solver &solver_;
  const PlanMeasurer &measurer_;
  std::vector<Candidate> grids_;
  std::unique_ptr<KeptRouters> routers_ = std::make_unique<KeptRouters>();
  std::optional<double> deadline_; ///< That was given.
  int64_t left_;                   ///< Of the budget of work.
  /// Of what grids may take that win seldom; set once the others are done.
  std::optional<int64_t> leftForMore_;
  std::optional<GridAnswer> best_;
  std::vector<MetPlan> met_; ///< Of the least sums, the least first.
  Candidate *bestGrid_ = nullptr;
  MemoryView bestView_;  ///< With which it was solved.
  double measuring_ = 0; ///< Seconds that the slowest plan took to measure.
  int64_t work_ = 0;     ///< Done.
  int64_t spent_ = 0;    ///< The same, and for building problems.
  search::Stopped stopped_ = search::Stopped::Finished;
  CappedChoices capped_; ///< On the grid of most.
  /// Why there is no plan, if there is none.
  NoPlanReason failure_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_GRIDSEARCH_H
