//===- PlanModule.h - Plans a whole module ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Called by the pass `nn-plan` and the driver.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_PLANMODULE_H
#define DIVISI_PLAN_PLANMODULE_H

#include "divisi/Cluster/DeviceGrid.h"
#include "divisi/Plan/PlaceStages.h"
#include "divisi/Plan/PlanControl.h"
#include "divisi/Search/Solvers.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// What devices of one kind hold under a plan, all counted.
struct HeldMemory {
  std::string kind;  ///< DeviceKind::name
  int64_t limit = 0; ///< Bytes that one of them may hold.
  int64_t bytes = 0; ///< That the fullest of them holds.
  std::string parts; ///< What these are made of, for people.

  /// Above the limit; less than 0: what is left.
  int64_t missing() const { return bytes - limit; }
};

/// Says what devices hold under the plan in a module, which it may change;
/// nothing if that cannot be known. Called from the thread that plans.
using MeasureMemory = std::function<std::vector<HeldMemory>(mlir::ModuleOp)>;

/// Says what a run of the plan in a module takes, which it may change, in
/// nanoseconds, simulated with overlap; nothing if that is not known. Called
/// from the thread that plans.
using SimulatePlan = std::function<std::optional<int64_t>(mlir::ModuleOp)>;

/// Of a pipeline whose stages have unequal numbers of devices: those that a
/// plan is for, and the plans for others.
struct StageShare {
  int64_t devices = 0;           ///< Of such a stage; 0: all are equal.
  std::vector<SizedPlan> others; ///< Those that are made.
};

/// All options of the stage.
struct PlanOptions {
  /// A preset (Cluster.h); empty: `cpu:N` for N devices.
  std::string cluster;
  /// Devices, mesh, degrees of parallelism.
  GridRequest grid;
  /// How many stages a pipeline has (PlaceStages.h); 1: there is none.
  int64_t pipelineStages = 1;
  /// Per stage, how many devices it has; empty: an equal part.
  std::vector<int64_t> stageDevices;
  /// Whether these numbers are searched.
  bool searchesStageDevices = false;
  /// Whether branches may run beside each other, on parts of the devices.
  bool dividesBranches = false;
  /// Of a pipeline: chunks of the model per stage, and the order of steps, as
  /// PipelineRequest has them.
  int64_t chunksPerStage = 0;
  std::string schedule = "auto";
  /// The dimension of the inputs that data axes split.
  int64_t batchDim = 0;
  /// Bytes per device; without, what a device of the cluster has.
  std::optional<int64_t> memoryLimit;
  /// Where the states of a training step rest, as parseZero() reads it; empty:
  /// where the search finds.
  std::string zero;
  /// What of the forward pass of a training step is computed again instead of
  /// kept: `auto`, what pays within the memory limit; `none`; `full`, all that
  /// may be.
  std::string recompute = "auto";
  /// What decides between plans: `simulated`, the time with overlap, of the few
  /// of the least sums of times (JudgePlans.cpp), and of each that `mcmc` looks
  /// at; or `sum`, that sum alone.
  std::string judge = "simulated";
  /// One of search::solvers(); `random` draws a legal plan, for tests.
  std::string solver = "auto";
  uint64_t seed = 0;
  /// Budget of work over all grids, as search::Options::work.
  int64_t work = 20'000'000'000;
  /// search::Options::gap: costs are estimates, so closing it pays little.
  double gap = 1e-4;
  /// The most strategies that one operator or value is given.
  size_t maxStrategies = 1024;
  /// No options of the pass: what reaches the planner only through C++. What
  /// devices hold, which limits are for; without, a plan's tensors are counted.
  /// What runs take; without, sums decide between the plans of other solvers
  /// than `mcmc`.
  /// What kinds called `cpu` can execute that do not state it
  /// (Cluster::describeHost). And control.
  MeasureMemory measure;
  SimulatePlan simulate;
  /// Whether memory is that of globals at rest alone, which every form of the
  /// program holds, also one that computes again. Without `measure`.
  bool countsGlobals = false;
  /// Which of unequal stages is planned for, which planModule says itself.
  std::string hostInstructionSet;
  StageShare share;
  PlanControl control;
};

/// The memory of a plan on the devices of one kind.
struct KindPeak {
  std::string kind;  ///< DeviceKind::name
  int64_t bytes = 0; ///< On the fullest of them.
};

/// What of `options` is about a pipeline.
PipelineRequest pipelineOf(const PlanOptions &options);

/// What came of it.
struct PlanReport {
  int64_t nodes = 0, edges = 0; ///< Of the planning problem.
  int64_t nanoseconds = 0;      ///< Predicted, all entries together.
  /// No declared strategies on any of the grids take less, in nanoseconds.
  int64_t lowerBound = 0;
  /// The plans that were simulated with overlap, if any; what the one that is
  /// taken takes then; and the least sum, where it is another's.
  std::optional<int64_t> judged, simulated, leastSum;
  /// Of a step that computes again because not even its globals fit on one
  /// device: what it would take if globals alone kept to the limit.
  std::optional<int64_t> estimate;
  int64_t programs = 1;     ///< Forms of the program of which the bound is.
  int64_t grids = 0;        ///< That were searched, or ruled out by a bound.
  int64_t gridsLeftOut = 0; ///< Others, of which nothing is said.
  int64_t maxAxes = 0;      ///< The most axes that one of them has.
  int64_t peakBytes = 0;    ///< On the fullest device.
  /// The same of each kind of devices, where they hold unequal parts.
  std::vector<KindPeak> kindPeaks;
  int64_t parameterBytes = 0; ///< All globals.
  int64_t residentBytes = 0;  ///< Of these, at rest on the fullest device.
  /// What the user may not have meant, and what may not be known: for stderr.
  std::vector<std::string> warnings, notes;
  /// Why the solver ended.
  search::Stopped stopped = search::Stopped::Finished;

  /// Whether time or a person ended it: another run may give another plan.
  bool isCut() const {
    return stopped == search::Stopped::Time ||
           stopped == search::Stopped::Interrupted;
  }
};

/// Annotates every entry function of `module` and its globals. Strategies and
/// places that are there already are kept. Fails with Usage if options
/// contradict each other or the module, with Infeasible if no plan fits into
/// the memory limit, with NoPlan if it was cut short before the first plan,
/// with Invalid if an annotation of the module is wrong.
Expected<PlanReport> planModule(mlir::ModuleOp module,
                                const PlanOptions &options);

/// Builds the planning problem without solving it, for `solve` and tests. The
/// module gets its grid.
Expected<search::Problem> planningProblem(mlir::ModuleOp module,
                                          const PlanOptions &options);

} // namespace divisi

#endif // DIVISI_PLAN_PLANMODULE_H
