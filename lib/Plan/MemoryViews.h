//===- MemoryViews.h - What a problem knows of memory -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Most plans fit without being asked to, and what takes memory only for a while
// makes problems large. So memory constraints are added in steps:
//
//   None      nothing is limited
//   Resting   what rests; the limit is lowered by what the last plan held
//             beside it, then by what it held too much
//   All       everything
//
// A bound of a problem that counts less is one of the problem, and so is one at
// prices of a smaller limit, if the true one is what they are paid for.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_MEMORYVIEWS_H
#define DIVISI_LIB_PLAN_MEMORYVIEWS_H

#include "PlanningInputs.h"

namespace divisi::plan {

/// What the problem of a grid has learnt of memory.
struct MemoryView {
  MemoryDetail detail = MemoryDetail::None; ///< What of it is counted.
  /// Bytes of each limit that nothing may rest in; empty: none.
  std::vector<int64_t> reserve = {};
  bool isGuess = false; ///< It is of a plan that counted no memory.
  int tries = 0;        ///< With one reserve or another.
};

/// What devices hold at the fullest time, as planned: all tensors.
struct PlannedMemory {
  std::vector<int64_t> peaks;   ///< For each kind of devices.
  std::vector<int64_t> missing; ///< By how much it is above the limit of each.

  /// Whether it is above none.
  bool fits() const;
};

/// A problem that was solved, and its answer.
struct FitOutcome {
  std::optional<PlanningProblem> planning; ///< Nothing if it was cut short.
  search::Outcome outcome;                 ///< The answer, with its bound.
  std::optional<PlannedMemory> use;        ///< Of the plan, if there is one.
  /// Proved, also of plans that leave no reserve; of costs, as the outcome's.
  std::optional<search::Wide> bound;

  /// There is a plan, and it fits.
  bool fits() const { return use && use->fits(); }
};

/// Solves the problem of `inputs` with what `view` has learnt. `known` may be
/// what an earlier view was solved with.
FitOutcome solveView(const PlanningInputs &inputs, const PlanOptions &options,
                     const search::Solver &solver,
                     const search::Options &solverOptions,
                     const MemoryView &view,
                     std::optional<PlanningProblem> known);

/// Whether another view may have a plan, after `fit` has none that fits; then
/// `view` is that one.
bool learn(MemoryView &view, const FitOutcome &fit);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_MEMORYVIEWS_H
