//===- GridMemory.cpp - Which plans of a grid fit -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridSearch.h"

#include "divisi/Support/CheckedMath.h"

#include "llvm/ADT/STLExtras.h"

#include <climits>
#include <limits>

namespace divisi::plan {

/// More than there is anywhere, and sums of some of it fit.
static constexpr int64_t kMostMemory = std::numeric_limits<int64_t>::max() / 4;

KindMemories memoriesOf(const PlanningInputs &inputs,
                        const PlanOptions &options) {
  return memoriesOf(inputs.cluster, inputs.devices, options);
}

/// Of all stages together, one has a part.
static std::pair<int64_t, int64_t> partOf(const PlanOptions &options) {
  return options.share.devices == 0
             ? std::pair<int64_t, int64_t>(options.pipelineStages, 1)
             : std::pair(llvm::sum_of(options.stageDevices),
                         options.share.devices);
}

int64_t limitOfStages(int64_t limit, const PlanOptions &options) {
  auto [all, part] = partOf(options);
  std::optional<int64_t> product = checkedMul(limit, all);
  int64_t together =
      product ? std::min(*product / part, kMostMemory) : kMostMemory;
  return std::max(limit, together);
}

int64_t limitOfDevice(int64_t together, const PlanOptions &options) {
  auto [all, part] = partOf(options);
  std::optional<int64_t> product = checkedMul(together, part);
  return (product ? *product + all - 1 : together) / all;
}

KindMemories memoriesOf(const Cluster &cluster, const DeviceGrid &devices,
                        const PlanOptions &options) {
  KindMemories memories;
  for (GridMemory &memory :
       memoriesOf(cluster, devices.grid, devices.devices)) {
    int64_t limit = cluster.memoryLimit(memory.kind, options.memoryLimit);
    memories.push_back({memory.kind.name, limitOfStages(limit, options),
                        std::move(memory.positions)});
  }
  if (!cluster.hasKinds()) {
    memories.front().kind.clear();
  }
  return memories;
}

/// Whether problems of the program take long.
bool GridSearch::isLarge() const {
  constexpr size_t kLarge = 1500;
  const Dataflow &dataflow = inputs_.dataflow();
  return dataflow.sites.size() + dataflow.values.size() > kLarge;
}

/// Where not even the globals fit whole, a limit is needed.
ViewSearch GridSearch::beginViews(const DeviceGrid &devices) const {
  if (options_.countsGlobals) {
    return ViewSearch::ofGlobals();
  }
  int64_t globals = 0;
  for (const DataflowValue &tensor : inputs_.dataflow().values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      globals += tensor.bytes();
    }
  }
  bool isTight = llvm::any_of(
      memoriesOf(inputs_.cluster, devices, options_),
      [&](const KindMemory &memory) { return globals > *memory.limit; });
  ViewSearch search(isLarge(), measurer_.isAble(), isTight);
  // Who asks what memory would do needs more than a look.
  if (isTight && isLarge() && measurer_.isAble() &&
      !options_.control.explains) {
    search.probe();
  }
  return search;
}

/// Whether devices hold the plan of `fit`, by all that is known; what that says
/// of other views goes to `result`.
bool GridSearch::fits(const Candidate &grid, const FitOutcome &fit,
                      ViewResult &result) {
  PlanningInputs inputs = inputsOf(grid);
  double begin = steadySeconds();
  std::vector<HeldMemory> held = measurer_.heldBy(inputs, fit);
  measuring_ = std::max(measuring_, steadySeconds() - begin);
  result.fits = true;
  result.wanted = result.wantedOfAll = INT_MAX;
  Ladder ladder = grid.memory.ladder();
  result.excess = -std::numeric_limits<double>::infinity();
  for (auto [kind, memory] : llvm::enumerate(held)) {
    result.fits &= memory.missing() <= 0;
    result.excess =
        std::max(result.excess, ladder.stepsAbove(memory.limit, memory.bytes));
    auto stepBeside = [&, memory = memory](int64_t counted) {
      return ladder.stepAt(memory.limit,
                           memory.limit - (memory.bytes - counted));
    };
    result.wanted = std::min(result.wanted, stepBeside(fit.use->seen[kind]));
    result.wantedOfAll =
        std::min(result.wantedOfAll, stepBeside(fit.use->peaks[kind]));
  }
  if (!result.fits) {
    failure_.hear(held);
  }
  return result.fits;
}

/// The highest step on which the plan of `fit`, if there is one, is above a
/// limit of tensors.
int GridSearch::belowOf(const Candidate &grid, const FitOutcome &fit) const {
  int below = INT_MIN;
  if (fit.hasPlan()) {
    // All tensors: who goes down by single steps counts them.
    for (auto [memory, peak] :
         llvm::zip_equal(memoriesOf(inputs_.cluster, grid.devices, options_),
                         fit.use->peaks)) {
      below =
          std::max(below, grid.memory.ladder().stepAt(*memory.limit, peak - 1));
    }
  }
  return below;
}

/// Once there is a plan, the search ends so early that another can be measured,
/// and the one that is taken lowered, until time is over.
void GridSearch::leaveTime() {
  constexpr double kMeasures = 2.5;
  if (deadline_) {
    options_.control.deadline = *deadline_ - kMeasures * measuring_;
  }
}

/// Takes what `fit` has found on `grid`, which fits.
void GridSearch::adopt(Candidate &grid, FitOutcome fit) {
  leaveTime();
  best_ = {grid.devices, std::move(fit.planning), std::move(fit.outcome),
           std::move(fit.use->peaks)};
  bestGrid_ = &grid;
  bestView_ = grid.view;
}

/// Whether the next view is worth its time: large problems take long to bring
/// no plan, and a bound that is hardly a better one.
bool GridSearch::isWorthwhile(const Candidate &grid) const {
  return !isLarge() || !grid.memory.view().isLeast || mayWin(grid, kFairGap);
}

/// Whether what does not fit into the view of `grid` fits into no device.
bool GridSearch::isAtLimits(const Candidate &grid) const {
  return grid.view.step == 0 && (grid.view.isLeast || !measurer_.isAble());
}

/// What a solved problem says of its grid.
void GridSearch::take(Candidate &grid, FitOutcome &fit, bool isFinished) {
  bool isInfeasible = fit.outcome.verdict == search::Verdict::Infeasible;
  if (isInfeasible && isAtLimits(grid)) {
    grid.bound = std::max(grid.bound, fit.planning->below.value_or(INT64_MAX));
  }
  if (!fit.hasPlan() && (isInfeasible || !grid.memory.isProbe())) {
    failure_.hear(inputsOf(grid), options_, *fit.planning, fit.outcome,
                  isAtLimits(grid));
  }
  capped_.add(cappedOf(*fit.planning));
  ViewResult result = {.hasPlan = fit.hasPlan()};
  std::shared_ptr<PlanningProblem> planning = fit.planning;
  // Where not all are looked for, none may be better.
  result.isUseless = fit.hasPlan() ? !isBetter(fit.outcome)
                                   : isInfeasible && fit.planning->below;
  // Of a problem that counts less, only the bound is wanted.
  bool isWanted = fit.hasPlan() && !result.isUseless &&
                  !grid.memory.isProbe() && !(grid.view.isLeast && best_);
  result.below = belowOf(grid, fit);
  if (fit.hasPlan() && !grid.view.isLeast) {
    meet(grid, fit);
  }
  if (isWanted && fits(grid, fit, result)) {
    grid.fitting = grid.view;
    adopt(grid, std::move(fit));
  }
  bool isSolved = grid.stage == Candidate::Solved;
  bool isProved = grid.bound == INT64_MAX;
  bool isOneOfMany = grid.memory.isOneOfMany();
  if (!isSolved && !isCut() && !isProved && grid.memory.next(result) &&
      isWorthwhile(grid)) {
    grid.view = grid.memory.view();
    grid.planning = std::move(planning);
    return;
  }
  grid.view = grid.fitting.value_or(grid.view);
  grid.stage = isFinished || isSolved || isProved || isOneOfMany
                   ? Candidate::Done
                   : Candidate::Solved;
}

} // namespace divisi::plan
