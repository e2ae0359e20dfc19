//===- PlanRecord.h - How a plan was found, and how good it is --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner writes it to the module, as the attribute `divisi.plan`, so that
// dumps and artifacts can say how good their plan is, and so that the planning
// problem can be made again:
//
//   divisi.plan = {cluster = "cpu:4", ended = "finished", lower_bound = 81 …}
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_PLANRECORD_H
#define DIVISI_PLAN_PLANRECORD_H

#include "divisi/Cluster/DeviceGrid.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// What was asked of the planner, and what came of it.
struct PlanRecord {
  std::string cluster;                ///< `cpu:4`
  std::string roles;                  ///< Per axis: `any data model`.
  int64_t batchDim = 0;               ///< PlanOptions::batchDim
  std::optional<int64_t> memoryLimit; ///< If one was given.
  std::optional<std::string> zero;    ///< PlanOptions::zero, if given.
  /// PlanOptions::recompute, of a training step.
  std::optional<std::string> recompute;
  /// True if devices were to be divided among branches, else nothing.
  std::optional<bool> dividesBranches;
  int64_t maxStrategies = 0; ///< PlanOptions::maxStrategies
  /// PlanOptions::judge, if it is not the default.
  std::optional<std::string> judge;
  std::string solver; ///< PlanOptions::solver
  int64_t seed = 0;   ///< PlanOptions::seed
  int64_t work = 0;   ///< The budget.
  double gap = 0;     ///< The gap that was good enough.
  /// Operators whose strategy the module had before, which was kept.
  int64_t pinned = 0;

  /// Why the solver ended: search::stoppedName(Stopped), or `drawn` at random.
  std::string ended;
  int64_t workDone = 0;
  int64_t nanoseconds = 0; ///< PlanReport::nanoseconds
  /// Of the time, for the strategies that were declared, on all `grids`; none
  /// if no solver has looked for one.
  std::optional<int64_t> lowerBound;
  /// PlanReport::judged, simulated and leastSum.
  std::optional<int64_t> judged, simulated, leastSum;
  std::optional<int64_t> stages; ///< Of a pipeline, if there is one.
  /// Devices of each stage, where they have unequal numbers.
  std::vector<int64_t> stageDevices;
  /// Then the name of its schedule, and micro-batches, of the first entry.
  std::optional<std::string> schedule;
  std::optional<int64_t> microBatches;
  /// What counts as an output where throughput was wanted: a `row` of the batch
  /// or a `batch`.
  std::optional<std::string> throughputOf;
  /// How many of these a run then has.
  std::optional<int64_t> outputs;
  int64_t grids = 0;                   ///< PlanReport::grids
  std::optional<int64_t> gridsLeftOut; ///< The same, if there are any.
  /// True if there are grids that are not even listed (leavesUnlisted), else
  /// nothing.
  std::optional<bool> leavesUnlisted;
  int64_t maxAxes = 0;   ///< PlanReport::maxAxes
  int64_t peakBytes = 0; ///< Of tensors, on the fullest device.
  /// The same by kind (memoriesOf), where there are several with unequal parts.
  std::vector<int64_t> kindPeakBytes;
  /// Of all strategies and places.
  int64_t fingerprint = 0;
  /// Whether strategies or places are others than were found: what is said of
  /// costs and bound is then of the plan before.
  bool edited = false;

  friend bool operator==(const PlanRecord &, const PlanRecord &) = default;
};

/// Tells `field` name and reference of every member of `record`, in one order:
/// for whoever writes or reads all of them.
template <typename Record, typename Field>
void forEachField(Record &record, Field field) {
  field("cluster", record.cluster);
  field("roles", record.roles);
  field("batch_dim", record.batchDim);
  field("memory_limit", record.memoryLimit);
  field("zero", record.zero);
  field("recompute", record.recompute);
  field("branch_parallel", record.dividesBranches);
  field("max_strategies", record.maxStrategies);
  field("judge", record.judge);
  field("solver", record.solver);
  field("seed", record.seed);
  field("work", record.work);
  field("gap", record.gap);
  field("pinned", record.pinned);
  field("ended", record.ended);
  field("work_done", record.workDone);
  field("nanoseconds", record.nanoseconds);
  field("lower_bound", record.lowerBound);
  field("judged", record.judged);
  field("simulated", record.simulated);
  field("least_sum", record.leastSum);
  field("stages", record.stages);
  field("stage_devices", record.stageDevices);
  field("schedule", record.schedule);
  field("micro_batches", record.microBatches);
  field("throughput_of", record.throughputOf);
  field("outputs", record.outputs);
  field("grids", record.grids);
  field("grids_left_out", record.gridsLeftOut);
  field("leaves_unlisted", record.leavesUnlisted);
  field("max_axes", record.maxAxes);
  field("peak_bytes", record.peakBytes);
  field("kind_peak_bytes", record.kindPeakBytes);
  field("fingerprint", record.fingerprint);
  field("edited", record.edited);
}

/// PlanRecord::roles of a grid.
std::string rolesText(llvm::ArrayRef<AxisRole> roles);
/// The roles of `count` axes that `text` says; Any of those that it does not
/// mention.
llvm::SmallVector<AxisRole, 4> rolesFrom(llvm::StringRef text, size_t count);

/// On which grids the bound of `record` holds, and on which it may not: `7
/// grids of up to 3 axes, not on 5 others of which one seldom wins,`.
std::string describeGrids(const PlanRecord &record);

/// A number that any change of a strategy or a place of `module` changes.
int64_t fingerprintOf(mlir::ModuleOp module);

/// Writes `record` to `module`, with the fingerprint of what it holds.
void setPlanRecord(mlir::ModuleOp module, PlanRecord record);

/// The record that `module` carries: none, if it was planned by hand or not at
/// all. ExitCode::Invalid for one that somebody has broken.
Expected<std::optional<PlanRecord>> getPlanRecord(mlir::ModuleOp module);

/// Notes in the record of a planned `module`, if it has one, whether the plan
/// is another than was found. ExitCode::Invalid as getPlanRecord.
Status notePlanEdits(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_PLAN_PLANRECORD_H
