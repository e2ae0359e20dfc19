//===- FitMemory.cpp - Plans that fit into memory -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FitMemory.h"

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

bool MemoryUse::fits() const {
  return llvm::all_of(missing, [](int64_t bytes) { return bytes <= 0; });
}

/// Nobody cuts it short, and every node has one strategy.
MemoryUse memoryOf(const Setting &setting, const PlanOptions &options,
                   const PlanningProblem &planning,
                   const std::vector<uint32_t> &assignment) {
  Fixed fixed = fixedBy(planning, assignment);
  search::Problem problem =
      makeProblem(setting, options, {.fixed = &fixed, .isControlled = false})
          ->problem;
  MemoryUse use;
  use.peaks = peaksOf(search::evaluate(
      problem, std::vector<uint32_t>(problem.nodes.size(), 0)));
  for (auto [kind, peak] : llvm::enumerate(use.peaks)) {
    use.missing.push_back(peak - *problem.limitOf(unsigned(kind)));
  }
  return use;
}

/// What to try after an answer that needs `missing` bytes more than there are;
/// after none, if that is nothing. False if nothing is left to try: stops of
/// one tensor that turn out to be the same live longer than a problem knows.
static bool learn(MemoryView &view,
                  const std::optional<std::vector<int64_t>> &missing) {
  constexpr int kMostTries = 3;
  if (view.detail == MemoryDetail::None) {
    view.detail = MemoryDetail::Resting;
  } else if (missing && view.tries < kMostTries) {
    view.reserve.resize(missing->size(), 0);
    for (auto [reserve, bytes] : llvm::zip_equal(view.reserve, *missing)) {
      reserve += std::max<int64_t>(bytes, 0);
    }
    ++view.tries;
  } else if (view.detail == MemoryDetail::Resting) {
    view = {.detail = MemoryDetail::All, .bound = view.bound};
  } else {
    return false;
  }
  return true;
}

FitOutcome solveWithinMemory(const Setting &setting, const PlanOptions &options,
                             const search::Solver &solver,
                             const search::Options &solverOptions,
                             MemoryView &view,
                             llvm::function_ref<bool()> isWanted) {
  FitOutcome fit;
  while (true) {
    fit.planning = makeProblem(
        setting, options, {.memory = view.detail, .reserve = view.reserve});
    if (!fit.planning) {
      return fit;
    }
    search::Options asked = solverOptions;
    if (auto ties = tiesOf(setting.dataflow, *fit.planning)) {
      asked.ties = std::move(*ties);
    }
    fit.outcome = solver.solve(fit.planning->problem, asked);
    fit.work += fit.outcome.work;
    bool isSolved = fit.outcome.verdict == search::Verdict::Solved;
    bool wasReserved = !view.reserve.empty();
    if (isSolved && !wasReserved) {
      view.bound =
          std::max(view.bound, nanosecondsOf(fit.outcome.solution.lowerBound));
    }
    std::optional<std::vector<int64_t>> missing;
    if (isSolved) {
      MemoryUse use = memoryOf(setting, options, *fit.planning,
                               fit.outcome.solution.assignment);
      fit.fits = use.fits();
      fit.peaks = std::move(use.peaks);
      missing = std::move(use.missing);
    }
    bool isCut = fit.outcome.stopped == search::Stopped::Time ||
                 fit.outcome.stopped == search::Stopped::Interrupted;
    // Nothing is known of a smaller limit than the true one.
    if (fit.fits || isCut || (!isSolved && !wasReserved) || !isWanted()) {
      return fit;
    }
    if (!learn(view, missing)) {
      // Nothing was proved, since the limit was smaller than the true one.
      fit.outcome.verdict = search::Verdict::NotFound;
      fit.outcome.time.reset();
      fit.outcome.message = "plans that were tried hold more";
      return fit;
    }
  }
}

} // namespace divisi::plan
