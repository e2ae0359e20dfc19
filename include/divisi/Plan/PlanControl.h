//===- PlanControl.h - Limits and interruption of planning ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_PLANCONTROL_H
#define DIVISI_PLAN_PLANCONTROL_H

#include "divisi/Search/Solvers.h"
#include "divisi/Support/Clock.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>

namespace divisi {

struct PlanReport;

/// search::Progress::by of lines about the problem, before it is solved.
inline constexpr std::string_view kBuildingProblem = "problem";

/// How a plan may be cut short, and who hears of it. Unless it strikes, or
/// `wanted` is given, the plan is the same with it and without.
struct PlanControl {
  /// Becomes true from outside (a signal): the best plan so far is kept.
  search::StopSignal stop;
  /// std::chrono::steady_clock, in seconds, after which the same is done.
  std::optional<double> deadline;
  /// Told what the planner knows: while the problem is built (`by` is
  /// kBuildingProblem then, and there is no cost) and while it is solved.
  std::function<void(const search::Progress &)> onProgress;
  /// Told what came of it, once the module has its plan.
  std::function<void(const PlanReport &)> onPlan;

  /// Whether an error is to say what memory would do, which takes long.
  bool explains = true;
  /// Plans that take no less than so many nanoseconds may be left unfound.
  std::optional<int64_t> wanted;

  /// What strikes now; Finished if nothing has.
  search::Stopped struck() const {
    if (stop.isRaised()) {
      return search::Stopped::Interrupted;
    }
    return deadline && steadySeconds() >= *deadline ? search::Stopped::Time
                                                    : search::Stopped::Finished;
  }
};

} // namespace divisi

#endif // DIVISI_PLAN_PLANCONTROL_H
