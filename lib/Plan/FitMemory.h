//===- FitMemory.h - Plans that fit into memory -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Most plans fit without being asked to, and what takes memory only on its way
// makes problems large. So a problem learns of memory by and by: nothing at
// first; if the answer does not fit, what rests; then that less may rest, by as
// much as was missing; in the end everything. A bound of what counts less, or
// of no smaller limit, is one of the problem.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_FITMEMORY_H
#define DIVISI_LIB_PLAN_FITMEMORY_H

#include "Setting.h"

namespace divisi::plan {

/// What the problem of a grid has learnt of memory.
struct MemoryView {
  MemoryDetail detail = MemoryDetail::None;
  /// Bytes of each limit that nothing may rest in; empty: none.
  std::vector<int64_t> reserve = {};
  int tries = 0;     ///< With one reserve or another.
  int64_t bound = 0; ///< No plan that fits takes less, in nanoseconds.
};

/// The last problem that was solved, and its answer.
struct FitOutcome {
  std::optional<PlanningProblem> planning; ///< Nothing if it was cut short.
  search::Outcome outcome;
  bool fits = false;          ///< There is a plan, and it fits.
  std::vector<int64_t> peaks; ///< Of the plan, for each kind of devices.
  int64_t work = 0;           ///< Of all problems.
};

/// Solves the problem of `setting` from what `view` has learnt until the answer
/// fits, there is none, or `isWanted` says that it need not be found.
FitOutcome solveWithinMemory(const Setting &setting, const PlanOptions &options,
                             const search::Solver &solver,
                             const search::Options &solverOptions,
                             MemoryView &view,
                             llvm::function_ref<bool()> isWanted);

/// Memory of a plan, all counted.
struct MemoryUse {
  std::vector<int64_t> peaks;   ///< For each kind of devices.
  std::vector<int64_t> missing; ///< By how much it is above the limit of each.

  /// Whether it is above none.
  bool fits() const;
};

/// What devices hold at the fullest time.
MemoryUse memoryOf(const Setting &setting, const PlanOptions &options,
                   const PlanningProblem &planning,
                   const std::vector<uint32_t> &assignment);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_FITMEMORY_H
