//===- PlanModule.cpp - Plans a whole module ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlanModule.h"

#include "MeasurePlan.h"
#include "PlanBranches.h"
#include "PlanUnequal.h"
#include "PlanWarnings.h"
#include "PlanningInputs.h"
#include "RandomPlan.h"
#include "RecomputePlan.h"
#include "WantedSites.h"
#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanRecord.h"

using namespace mlir;

namespace divisi {

using namespace plan;

/// As clusterOf, of which kinds may state no instruction set.
static Expected<Cluster> describedCluster(ModuleOp module,
                                          const PlanOptions &options) {
  constexpr int64_t kMostDevices = Cluster::maxDevices;
  int64_t devices = options.grid.devices.value_or(1);
  if (devices < 1 || devices > kMostDevices) {
    return Status(ExitCode::Usage, "the number of devices is " +
                                       std::to_string(devices) +
                                       ", expected 1 to 4096");
  }
  if (!options.cluster.empty()) {
    return findCluster(options.cluster);
  }
  std::string instructionSet;
  if (module->hasAttr(kClusterAttr)) {
    Expected<Cluster> planned = getCluster(module);
    if (!planned || !llvm::StringRef(planned->name).starts_with("cpu:")) {
      return planned;
    }
    instructionSet = planned->pace().instructionSet;
  }
  const GridRequest &request = options.grid;
  if (!request.devices && !request.mesh.empty()) {
    devices = std::min(meshPositions(request.mesh).value_or(1), kMostDevices);
    devices = std::min(devices * options.pipelineStages, kMostDevices);
  } else if (!request.devices && !options.stageDevices.empty()) {
    devices = std::min(llvm::sum_of(options.stageDevices), kMostDevices);
  } else if (!request.devices && !module.getOps<spmd::GridOp>().empty()) {
    devices = countDevices(module);
  } else if (!request.devices) {
    devices = request.dataParallel.value_or(1) *
              request.tensorParallel.value_or(1) * options.pipelineStages;
  }
  Expected<Cluster> processors = presetCluster("cpu", devices);
  if (processors) {
    processors->describeHost(instructionSet);
  }
  return processors;
}

Expected<Cluster> plan::clusterOf(ModuleOp module, const PlanOptions &options) {
  Expected<Cluster> cluster = describedCluster(module, options);
  if (cluster) {
    cluster->describeHost(options.hostInstructionSet);
  }
  return cluster;
}

/// Writes grid and cluster of a plan on `devices`.
static void setGrid(ModuleOp module, const DeviceGrid &devices,
                    PlanningInputs &inputs) {
  inputs.devices = devices;
  if (!inputs.grid) {
    inputs.grid = createGrid(module, devices.grid, devices.devices);
  }
  setCluster(module, inputs.cluster);
}

namespace {
/// Everything but the grid, and those that it may be.
struct Start {
  PlanningInputs inputs;
  std::vector<DeviceGrid> grids;
};
} // namespace

static Expected<Start> prepare(ModuleOp module, const PlanOptions &options) {
  Start start;
  PlanningInputs &inputs = start.inputs;
  Expected<Cluster> cluster = clusterOf(module, options);
  if (!cluster) {
    return cluster.status();
  }
  inputs.cluster = *cluster;
  if (Status status = checkOptions(options); !status.isOk()) {
    return status;
  }
  FirstError error(module.getContext());
  FailureOr<ModuleDataflow> dataflow = readDataflow(module, options.batchDim);
  if (failed(dataflow)) {
    return Status(ExitCode::Invalid, error.message());
  }
  inputs.setDataflow(std::move(*dataflow));
  Expected<std::vector<DeviceGrid>> grids =
      chooseGrids(module, options, inputs);
  if (!grids) {
    return grids.status();
  }
  start.grids = std::move(*grids);
  Status status = checkZero(inputs.dataflow(), options, start.grids.front());
  status = status.isOk() ? checkWanted(inputs.dataflow(), start.grids) : status;
  if (!status.isOk()) {
    return status;
  }
  if (!inputs.grid) {
    inputs.fixed = Fixed::nothingOf(inputs.dataflow());
    return start;
  }
  FailureOr<Fixed> fixed = readFixed(inputs.dataflow(), inputs.grid);
  if (failed(fixed)) {
    return Status(ExitCode::Invalid, error.message());
  }
  inputs.fixed = std::move(*fixed);
  return start;
}

std::optional<PlanningProblem>
plan::makeProblem(const PlanningInputs &inputs, const PlanOptions &options,
                  const ProblemRequest &request) {
  SplitRules rules{inputs.devices.roles, options.maxStrategies, {}};
  if (request.below) {
    rules.slack = *request.below - request.least;
  }
  ProblemOptions planning;
  planning.links = inputs.devices.links;
  planning.memory = request.memory;
  planning.memories = memoriesOf(inputs, options);
  planning.maxStrategies = options.maxStrategies;
  if (!options.zero.empty()) {
    planning.zero = *parseZero(options.zero); // prepare() has read it
  }
  planning.names = request.names;
  planning.routers = request.routers;
  planning.control = request.isControlled ? &options.control : nullptr;
  planning.present = request.present;
  std::optional<PlanningProblem> problem = buildProblem(
      inputs.dataflow(), inputs.devices.grid, inputs.paceOf(inputs.devices),
      rules, request.fixed ? *request.fixed : inputs.fixed, planning);
  if (problem) {
    problem->below = request.below;
  }
  return problem;
}

static void tellAnswer(const PlanningInputs &inputs, const GridAnswer &answer,
                       PlanReport &report) {
  const PlanningProblem &planning = *answer.planning;
  const search::Solution &solution = answer.outcome.solution;
  std::vector<int64_t> resting(answer.peaks.size(), 0);
  report.stopped = answer.outcome.stopped;
  report.nodes = int64_t(planning.problem.nodes.size());
  report.edges = int64_t(planning.problem.edges.size());
  for (auto [index, tensor] : llvm::enumerate(inputs.dataflow().values)) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      unsigned number = planning.valueNodes[index];
      const search::Node &node = planning.problem.nodes[number];
      forEachUsage(node, [&](uint32_t kind, const auto &usages) {
        resting[kind] += usages[solution.assignment[number]];
      });
      report.parameterBytes += tensor.bytes();
    }
  }
  report.nanoseconds = nanosecondsOf(solution.cost);
  std::tie(report.judged, report.simulated, report.leastSum) =
      std::tie(answer.judged, answer.simulated, answer.leastSum);
  report.lowerBound = answer.lowerBound;
  report.grids -= answer.gridsLeftOut;
  report.gridsLeftOut = answer.gridsLeftOut;
  report.residentBytes = *llvm::max_element(resting);
  report.peakBytes = *llvm::max_element(answer.peaks);
  if (answer.peaks.size() > 1) {
    for (auto [kind, bytes] : llvm::enumerate(answer.peaks)) {
      report.kindPeaks.push_back(
          {planning.problem.nameOf(uint32_t(kind)), bytes});
    }
  }
}

static PlanRecord recordOf(const PlanningInputs &inputs,
                           const PlanOptions &options,
                           const search::Outcome &outcome,
                           const PlanReport &report) {
  PlanRecord record;
  record.cluster = inputs.cluster.name;
  record.roles = rolesText(inputs.devices.roles);
  record.batchDim = options.batchDim;
  record.memoryLimit = options.memoryLimit;
  if (!options.zero.empty()) {
    record.zero = options.zero;
  }
  if (options.recompute != "auto" && hasStates(inputs.dataflow())) {
    record.recompute = options.recompute;
  }
  if (options.dividesBranches && options.pipelineStages == 1) {
    record.dividesBranches = true;
  }
  record.maxStrategies = int64_t(options.maxStrategies);
  if (options.judge != PlanOptions().judge) {
    record.judge = options.judge;
  }
  std::tie(record.judged, record.simulated, record.leastSum) =
      std::tie(report.judged, report.simulated, report.leastSum);
  record.solver = options.solver;
  record.seed = int64_t(options.seed);
  record.work = options.work;
  record.gap = options.gap;
  record.pinned = llvm::count_if(
      inputs.fixed.sites, [](const auto &split) { return split.has_value(); });
  record.ended = search::stoppedName(outcome.stopped);
  record.workDone = outcome.work;
  record.nanoseconds = report.nanoseconds;
  record.lowerBound = report.lowerBound;
  record.grids = report.grids;
  if (report.gridsLeftOut > 0) {
    record.gridsLeftOut = report.gridsLeftOut;
  }
  if (inputs.leavesUnlisted) {
    record.leavesUnlisted = true;
  }
  record.maxAxes = report.maxAxes;
  record.peakBytes = report.peakBytes;
  for (const KindPeak &peak : report.kindPeaks) {
    record.kindPeakBytes.push_back(peak.bytes);
  }
  return record;
}

/// A plan that was whole already keeps what was said of it.
static void writeRecord(ModuleOp module, const PlanRecord &record,
                        const Dataflow &dataflow) {
  Expected<std::optional<PlanRecord>> known = getPlanRecord(module);
  bool isWhole = record.pinned == int64_t(dataflow.sites.size());
  if (!isWhole || !known || !*known ||
      (*known)->fingerprint != fingerprintOf(module)) {
    setPlanRecord(module, record);
  }
}

/// What the request cannot have, and what the plan makes of it.
static void addWarnings(const PlanningInputs &inputs,
                        const PlanOptions &options, const GridAnswer &answer,
                        PlanReport &report) {
  report.warnings =
      warnOfRequest(inputs.dataflow(), inputs.devices, options.batchDim);
  if (auto warning = warnOfReplication(inputs.dataflow(), *answer.planning,
                                       inputs.devices.grid,
                                       answer.outcome.solution.assignment)) {
    report.warnings.push_back(*warning);
  }
  if (auto note = noteLeftOut(answer.capped, options.maxStrategies)) {
    report.notes.push_back(*note);
  }
  if (auto note = noteStates(inputs.dataflow(), *answer.planning,
                             memoriesOf(inputs, options), inputs.devices.grid,
                             answer.outcome.solution.assignment)) {
    report.notes.push_back(*note);
  }
  if (auto note = noteAxisNames(options.grid.mesh, inputs.devices)) {
    report.notes.push_back(*note);
  }
  llvm::append_range(report.notes,
                     noteIdle(inputs.cluster, inputs.devices, options));
}

Expected<PlanReport> planModule(ModuleOp module, const PlanOptions &options) {
  if (options.solver == "random") {
    return planAtRandom(module, options);
  }
  if (Status status = checkOptions(options); !status.isOk()) {
    return status;
  }
  bool isSearch = options.searchesStageDevices && options.pipelineStages > 1;
  if (isSearch || !options.stageDevices.empty()) {
    return planUnequal(module, options);
  }
  if (options.dividesBranches && options.pipelineStages == 1) {
    return planBranches(module, options);
  }
  Expected<PlanReport> report = mayRecompute(module, options)
                                    ? planRecomputing(module, options)
                                    : planOnce(module, options);
  if (!report || options.pipelineStages == 1) {
    return report;
  }
  report->lowerBound = 0; // it was of one grid
  Status status = placeStages(module, pipelineOf(options));
  return status.isOk() ? std::move(report) : Expected<PlanReport>(status);
}

Expected<PlanReport> plan::planOnce(ModuleOp module,
                                    const PlanOptions &options) {
  const search::Solver *solver = search::findSolver(options.solver);
  if (!solver) {
    return noSolver(options.solver);
  }
  Expected<Start> start = prepare(module, options);
  if (!start) {
    return start.status();
  }
  PlanningInputs &inputs = start->inputs;
  PlanReport report;
  report.grids = int64_t(start->grids.size());
  for (const DeviceGrid &grid : start->grids) {
    report.maxAxes = std::max(report.maxAxes, int64_t(grid.grid.numAxes()));
  }
  PlanMeasurer measurer(module, options);
  Expected<GridAnswer> answer =
      searchGrids(inputs, options, *solver, measurer, std::move(start->grids));
  if (!answer) {
    return answer.status();
  }
  setGrid(module, answer->devices, inputs);
  annotate(inputs.dataflow(), *answer->planning, inputs.grid,
           answer->outcome.solution.assignment);
  tellAnswer(inputs, *answer, report);
  writeRecord(module, recordOf(inputs, options, answer->outcome, report),
              inputs.dataflow());
  addWarnings(inputs, options, *answer, report);
  if (options.control.onPlan) {
    options.control.onPlan(report);
  }
  return report;
}

Expected<search::Problem> planningProblem(ModuleOp module,
                                          const PlanOptions &options) {
  Expected<Start> start = prepare(module, options);
  if (!start) {
    return start.status();
  }
  setGrid(module, start->grids.front(), start->inputs);
  std::optional<PlanningProblem> planning =
      makeProblem(start->inputs, options, {.names = true});
  return planning ? Expected<search::Problem>(std::move(planning->problem))
                  : cutShort(options.control.struck(),
                             "while the planning problem was built");
}

} // namespace divisi
