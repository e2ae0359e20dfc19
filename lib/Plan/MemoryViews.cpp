//===- MemoryViews.cpp - What a problem knows of memory -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryViews.h"

#include "Ties.h"

namespace divisi::plan {

/// The assignment as strategies and places.
static Fixed fixedBy(const PlanningProblem &planning,
                     const std::vector<uint32_t> &assignment) {
  Fixed fixed;
  for (auto [choices, node] :
       llvm::zip_equal(planning.choices, planning.siteNodes)) {
    fixed.sites.push_back(choices->splits[assignment[node]]);
  }
  auto take = [&](const std::vector<std::vector<Layout>> &places,
                  const std::vector<unsigned> &nodes,
                  std::vector<std::optional<Layout>> &list) {
    for (auto [layouts, node] : llvm::zip_equal(places, nodes)) {
      list.push_back(layouts.empty()
                         ? std::nullopt
                         : std::optional(layouts[assignment[node]]));
    }
  };
  take(planning.valuePlaces, planning.valueNodes, fixed.values);
  take(planning.stopPlaces, planning.stopNodes, fixed.stops);
  take(planning.outputPlaces, planning.outputNodes, fixed.outputs);
  return fixed;
}

bool PlannedMemory::fits() const {
  return llvm::all_of(missing, [](int64_t bytes) { return bytes <= 0; });
}

/// By a problem that nobody cuts short, in which every node has one strategy.
static PlannedMemory plannedMemory(const PlanningInputs &inputs,
                                   const PlanOptions &options,
                                   const PlanningProblem &planning,
                                   const std::vector<uint32_t> &assignment) {
  Fixed fixed = fixedBy(planning, assignment);
  search::Problem problem =
      makeProblem(inputs, options, {.fixed = &fixed, .isControlled = false})
          ->problem;
  PlannedMemory use;
  use.peaks = peaksOf(search::evaluate(
      problem, std::vector<uint32_t>(problem.nodes.size(), 0)));
  for (auto [kind, peak] : llvm::enumerate(use.peaks)) {
    use.missing.push_back(peak - *problem.limitOf(unsigned(kind)));
  }
  return use;
}

/// Of a problem with all that rests, also for a view that leaves that out:
/// a usage without a limit is nothing to solvers.
static MemoryDetail detailOf(const MemoryView &view) {
  return view.detail == MemoryDetail::None ? MemoryDetail::Resting
                                           : view.detail;
}

/// What `view` leaves of the limits.
static void setLimits(const PlanningInputs &inputs, const PlanOptions &options,
                      const MemoryView &view, search::Problem &problem) {
  KindMemories memories = memoriesOf(inputs, options);
  for (auto [kind, memory] : llvm::enumerate(memories)) {
    std::optional<int64_t> &limit =
        kind == 0 ? problem.usageLimit : problem.moreResources[kind - 1].limit;
    limit = memory.limit;
    if (view.detail == MemoryDetail::None) {
      limit.reset();
    } else if (!view.reserve.empty()) {
      *limit -= view.reserve[kind];
    }
  }
}

/// Of all plans that fit, from what is proved of those that leave a reserve:
/// prices and potentials bound at any limit, only less well.
static std::optional<search::Wide>
boundAtLimits(const PlanningInputs &inputs, const PlanOptions &options,
              const MemoryView &view, search::Problem &problem,
              const search::Solution &solution) {
  if (view.reserve.empty()) {
    return solution.lowerBound;
  }
  setLimits(inputs, options, {.detail = view.detail}, problem);
  Expected<std::optional<search::Wide>> bound =
      search::provedBound(problem, solution.certificate);
  setLimits(inputs, options, view, problem);
  return bound ? *bound : std::nullopt;
}

FitOutcome solveView(const PlanningInputs &inputs, const PlanOptions &options,
                     const search::Solver &solver,
                     const search::Options &solverOptions,
                     const MemoryView &view,
                     std::optional<PlanningProblem> known) {
  FitOutcome fit;
  fit.planning = known && known->memory == detailOf(view)
                     ? std::move(known)
                     : makeProblem(inputs, options, {.memory = detailOf(view)});
  if (!fit.planning) {
    return fit;
  }
  setLimits(inputs, options, view, fit.planning->problem);
  search::Options asked = solverOptions;
  if (auto ties = tiesOf(inputs.dataflow, *fit.planning)) {
    asked.ties = std::move(*ties);
  }
  fit.outcome = solver.solve(fit.planning->problem, asked);
  if (fit.outcome.verdict == search::Verdict::Solved) {
    fit.use = plannedMemory(inputs, options, *fit.planning,
                            fit.outcome.solution.assignment);
    fit.bound = boundAtLimits(inputs, options, view, fit.planning->problem,
                              fit.outcome.solution);
  }
  return fit;
}

/// What a plan holds that its problem has not seen, on each kind.
static std::vector<int64_t> unseenBy(const FitOutcome &fit) {
  std::vector<int64_t> unseen;
  for (auto [peak, seen] :
       llvm::zip_equal(fit.use->peaks, peaksOf(fit.outcome.solution))) {
    unseen.push_back(std::max<int64_t>(peak - seen, 0));
  }
  return unseen;
}

/// False if nothing is left to try: stops of one tensor that turn out to be the
/// same live longer than a problem knows. What has no plan has none under a
/// smaller limit.
bool learn(MemoryView &view, const FitOutcome &fit) {
  constexpr int kMostTries = 3;
  if (!fit.use && view.reserve.empty()) {
    return false;
  }
  if (view.detail == MemoryDetail::None) {
    view = {.detail = MemoryDetail::Resting,
            .reserve = unseenBy(fit),
            .isGuess = true};
  } else if (!fit.use && view.isGuess) {
    view = {.detail = view.detail};
  } else if (fit.use && view.tries < kMostTries) {
    // What the problem did not see of a plan will be there in others.
    view.reserve.resize(fit.use->missing.size(), 0);
    for (auto [reserve, missing, unseen] :
         llvm::zip_equal(view.reserve, fit.use->missing, unseenBy(fit))) {
      if (missing > 0) {
        reserve = std::max(reserve + missing, unseen);
      }
    }
    view.isGuess = false;
    ++view.tries;
  } else if (view.detail == MemoryDetail::Resting) {
    view = {.detail = MemoryDetail::All};
  } else {
    return false;
  }
  return true;
}

} // namespace divisi::plan
