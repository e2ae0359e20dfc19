//===- PlanningInputs.h - The inputs of planning ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PLANNINGINPUTS_H
#define DIVISI_LIB_PLAN_PLANNINGINPUTS_H

#include "Annotate.h"
#include "ProblemBuilder.h"
#include "divisi/Plan/ModuleDataflow.h"
#include "divisi/Plan/PlanModule.h"

#include "mlir/IR/Diagnostics.h"

namespace divisi::plan {

/// A machine, a program on it, and what is decided already.
struct PlanningInputs {
  Cluster cluster;             ///< The machine.
  DeviceGrid devices;          ///< What the module has, or is planned for.
  Fixed fixed;                 ///< What the module says already.
  spmd::GridOp grid;           ///< Of the module; null until it has one.
  bool leavesUnlisted = false; ///< divisi::leavesUnlisted of the grids.

  /// The program, once it is set. Copies for other devices share it.
  const ModuleDataflow &dataflow() const { return *dataflow_; }
  ModuleDataflow &dataflow() { return *dataflow_; }
  /// Sets it.
  void setDataflow(ModuleDataflow dataflow) {
    dataflow_ = std::make_shared<ModuleDataflow>(std::move(dataflow));
  }

  /// Of the devices on `grid`.
  GridPace paceOf(const DeviceGrid &grid) const {
    return GridPace(cluster, grid.grid, grid.devices);
  }

private:
  std::shared_ptr<ModuleDataflow> dataflow_;
};

class PlanMeasurer;

/// The first error that MLIR reports while it is alive, for a Status.
class FirstError {
public:
  /// Listens to `context`, which must outlive it.
  explicit FirstError(mlir::MLIRContext *context)
      : handler_(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
              message_.empty()) {
            message_ = diagnostic.str();
          }
          return mlir::failure(); // Others may want it, too.
        }) {}
  /// Empty if nothing was reported.
  const std::string &message() const { return message_; }

private:
  std::string message_;
  mlir::ScopedDiagnosticHandler handler_;
};

/// The problem of the grid that was chosen among all, its answer, and what is
/// known of the others.
struct GridAnswer {
  DeviceGrid devices; ///< What the module has, or is planned for.
  std::shared_ptr<PlanningProblem> planning; ///< Of that grid; not null.
  search::Outcome outcome;                   ///< Its answer.
  /// Of the plan, with all that takes memory, for each kind of devices.
  std::vector<int64_t> peaks;
  /// No strategies on any of the grids take less, in nanoseconds, but for those
  /// that are left out.
  int64_t lowerBound = 0;
  int64_t gridsLeftOut = 0; ///< Of which nothing is said.
  CappedChoices capped;     ///< On any of the grids.
  /// As PlanReport has them.
  std::optional<int64_t> judged, simulated, leastSum;
};

/// ExitCode::Usage for what no module can make right.
Status checkOptions(const PlanOptions &options);

/// The same where `devices` are fewer than stages need.
Status checkStages(const PlanOptions &options, int64_t devices);

/// The same for ZeRO where `dataflow` has no states of a training step, or
/// `devices` no axes of data.
Status checkZero(const Dataflow &dataflow, const PlanOptions &options,
                 const DeviceGrid &devices);

/// What is asked for, or the machine of a plan that was dropped. CPUs are what
/// is assumed anyway, as many as are needed, of the same instruction set.
Expected<Cluster> clusterOf(mlir::ModuleOp module, const PlanOptions &options);

/// Nothing was found before time or a person ended the planner in `phase`.
Status cutShort(search::Stopped why, llvm::StringRef phase);
/// ExitCode::Usage: no solver is called `name`, others are.
Status noSolver(const std::string &name);

/// Gathers why there is no plan.
class NoPlanReason {
public:
  /// `outcome` of `planning` has none. `isAtLimits`: it may say so of all plans
  /// on the grid of `inputs`.
  void hear(const PlanningInputs &inputs, const PlanOptions &options,
            const PlanningProblem &planning, const search::Outcome &outcome,
            bool isAtLimits);
  /// Whether memory was too small, and by how much is known.
  bool hasShortage() const { return shortage_.has_value(); }
  /// There is one, but devices would hold this.
  void hear(const std::vector<HeldMemory> &held);
  /// In words, after a search on `cluster` that was `stopped`. `isProved`: none
  /// exists.
  Status status(const Cluster &cluster, const PlanOptions &options,
                search::Stopped stopped, bool isProved) const;

private:
  /// Of the grid of most devices.
  std::optional<Status> shortage_;
  int64_t devices_ = 0;
  /// Of the kind that has too little, the plan that holds least.
  std::optional<HeldMemory> closest_;
  bool hasKinds_ = false; ///< Devices are of several.
};

/// What plans on the grid of `inputs` may use of each kind of devices.
KindMemories memoriesOf(const PlanningInputs &inputs,
                        const PlanOptions &options);
/// The same on the grid of `devices`.
KindMemories memoriesOf(const Cluster &cluster, const DeviceGrid &devices,
                        const PlanOptions &options);

/// What one grid holds, several stages will hold: what it may where a device
/// may hold `limit`.
int64_t limitOfStages(int64_t limit, const PlanOptions &options);
/// The other way round.
int64_t limitOfDevice(int64_t together, const PlanOptions &options);

/// What no plan of `inputs` on `grid` goes below, in nanoseconds, without a
/// problem: all devices compute at their pace, however operators are split.
int64_t quickBound(const PlanningInputs &inputs, const DeviceGrid &grid);

/// The same: every operator takes its best strategy, and nothing has to move.
int64_t operatorBound(const PlanningInputs &inputs, const DeviceGrid &grid,
                      const PlanOptions &options);

/// How many axes grids have at most, unless a user says it: kMostAxes, or one
/// less where operators would have more than `maxStrategies` strategies each or
/// very many together.
int64_t mostAxes(const Dataflow &dataflow, size_t maxStrategies);

/// Whether `inputs` is a training step of many operators that memory constrains
/// from the start: on three axes the budget ends far from the best plan.
bool isHeavy(const PlanningInputs &inputs, const PlanOptions &options);

/// Whether operators have more than `maxStrategies` strategies on so many axes.
bool isCapped(const Dataflow &dataflow, int64_t axes, size_t maxStrategies);

/// Solves `inputs` by `solver` on each of `grids` that can still win: a grid
/// is built only if a bound that needs no problem is below the best plan so
/// far, and solved until its own bound is above. `measurer` says which plans
/// fit. What inputs.devices is does not matter. Fails as planModule.
Expected<GridAnswer> searchGrids(const PlanningInputs &inputs,
                                 const PlanOptions &options,
                                 const search::Solver &solver,
                                 const PlanMeasurer &measurer,
                                 const std::vector<DeviceGrid> &grids);

/// The grid of `module` if it has one, which `inputs` then have, too; else
/// those that are asked for. ExitCode::Usage if there are none.
Expected<std::vector<DeviceGrid>> chooseGrids(mlir::ModuleOp module,
                                              const PlanOptions &options,
                                              PlanningInputs &inputs);

/// What a problem is to have beside what options say.
struct ProblemRequest {
  bool names = false; ///< For people.
  /// What is among the choices in any case, or null.
  const Fixed *present = nullptr;
  MemoryDetail memory = MemoryDetail::All;
  /// What is decided already; null: what the inputs says.
  const Fixed *fixed = nullptr;
  /// Only plans that take no more nanoseconds are wanted; all if not said.
  std::optional<int64_t> below;
  int64_t least = 0; ///< operatorBound, or less.
  /// Of earlier problems, if any.
  KeptRouters *routers = nullptr;
  /// Whether the options may cut the building short, and hear of it.
  bool isControlled = true;
};

/// The planning problem of `inputs`; nothing if `options` cut it short.
std::optional<PlanningProblem> makeProblem(const PlanningInputs &inputs,
                                           const PlanOptions &options,
                                           const ProblemRequest &request);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PLANNINGINPUTS_H
