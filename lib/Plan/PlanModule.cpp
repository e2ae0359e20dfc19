//===- PlanModule.cpp - Plans a whole module ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlanModule.h"

#include "PlanWarnings.h"
#include "RandomPlan.h"
#include "Setting.h"
#include "dialects/NN/Locations.h"
#include "divisi/Plan/PlanRecord.h"

using namespace mlir;

namespace divisi {

using namespace plan;

static Expected<Cluster> clusterOf(const PlanOptions &options) {
  constexpr int64_t kMostDevices = 4096;
  int64_t devices = options.grid.devices.value_or(1);
  if (devices < 1 || devices > kMostDevices) {
    return Status(ExitCode::Usage, "the number of devices is " +
                                       std::to_string(devices) +
                                       ", expected 1 to 4096");
  }
  std::string spec = options.cluster, error;
  if (spec.empty()) {
    GridRequest request = options.grid;
    if (!request.devices && !request.mesh.empty()) {
      // The mesh says how many; the cluster is as large as it can be.
      devices = kMostDevices;
    } else if (!request.devices) {
      devices =
          request.dataParallel.value_or(1) * request.tensorParallel.value_or(1);
    }
    spec = "cpu:" + std::to_string(devices);
  }
  std::optional<Cluster> cluster = parseCluster(spec, error);
  if (!cluster) {
    return Status(ExitCode::Usage, error);
  }
  return *cluster;
}

/// The grid of the module if it has one, else the one that is asked for.
static Status chooseGrid(ModuleOp module, const PlanOptions &options,
                         Setting &setting) {
  llvm::SmallVector<spmd::GridOp> grids(module.getOps<spmd::GridOp>());
  if (grids.size() > 1) {
    return Status(ExitCode::Usage,
                  "the module has " + std::to_string(grids.size()) +
                      " grids, and plans are searched on one; remove the "
                      "strategies on the others");
  }
  GridRequest request = options.grid;
  if (grids.size() == 1 && request.mesh.empty()) {
    Grid grid = grids[0].getValue();
    for (const GridAxis &axis : grid.axes()) {
      request.mesh += (request.mesh.empty() ? "" : ",") + axis.name + "=" +
                      std::to_string(axis.size);
    }
  }
  std::string error;
  std::optional<DeviceGrid> devices = gridFor(setting.cluster, request, error);
  if (!devices) {
    return Status(ExitCode::Usage, error);
  }
  if (grids.size() == 1 && grids[0].getValue() != devices->grid) {
    return Status(ExitCode::Usage, "the module has the grid @" +
                                       grids[0].getSymName().str() +
                                       ", which is not the mesh that is asked "
                                       "for; remove one of them");
  }
  setting.devices = *devices;
  if (grids.empty()) {
    setting.grid = createGrid(module, devices->grid, devices->links);
    return Status();
  }
  setting.grid = grids[0];
  if (setting.grid.getLatency() || setting.grid.getBandwidth()) {
    setting.devices.links = setting.grid.getLinkCosts();
  } else {
    setLinkCosts(setting.grid, devices->links);
  }
  return Status();
}

/// What no module can make right.
static Status checkOptions(const PlanOptions &options) {
  if (options.batchDim < 0) {
    return makeError(ExitCode::Usage, "the batch dimension is ",
                     options.batchDim, ", expected at least 0");
  }
  if (options.work < 0) {
    return makeError(ExitCode::Usage, "the budget of work is ", options.work,
                     ", expected at least 0");
  }
  if (!(options.gap >= 0)) {
    return makeError(ExitCode::Usage, "the gap is ", options.gap,
                     ", expected at least 0");
  }
  if (options.maxStrategies < 1) {
    return Status(ExitCode::Usage, "the most strategies of an operator are 0, "
                                   "expected at least 1");
  }
  if (options.grid.maxAxes < 1) {
    return Status(ExitCode::Usage,
                  "the most axes of a grid are 0, expected at least 1");
  }
  return Status();
}

/// The dataflow first: a module that cannot be read gets no grid.
static Expected<Setting> prepare(ModuleOp module, const PlanOptions &options) {
  Setting setting;
  Expected<Cluster> cluster = clusterOf(options);
  if (!cluster) {
    return cluster.status();
  }
  setting.cluster = *cluster;
  if (Status status = checkOptions(options); !status.isOk()) {
    return status;
  }
  FirstError error(module.getContext());
  FailureOr<Dataflow> dataflow = readDataflow(module, options.batchDim);
  if (failed(dataflow)) {
    return Status(ExitCode::Invalid, error.message());
  }
  setting.dataflow = std::move(*dataflow);
  if (Status status = chooseGrid(module, options, setting); !status.isOk()) {
    return status;
  }
  FailureOr<Fixed> fixed = readFixed(setting.dataflow, setting.grid);
  if (failed(fixed)) {
    return Status(ExitCode::Invalid, error.message());
  }
  setting.fixed = std::move(*fixed);
  return setting;
}

/// What a byte costs, in nanoseconds, that a device keeps all the time: as much
/// as reading it once, which decides between plans that are otherwise alike.
/// Tensor parallelism is asked for to share the parameters, so a byte kept
/// costs as much there as fetching it.
static double residentPrice(const DeviceGrid &devices) {
  double rate = devices.links.memoryBytesPerSecond;
  for (auto [role, link] : llvm::zip(devices.roles, devices.links.axes)) {
    if (role == AxisRole::Model) {
      rate = std::min(rate, link.bytesPerSecond);
    }
  }
  return 1e9 / rate;
}

/// The bytes that a plan may use on a device.
static int64_t memoryLimit(const Setting &setting, const PlanOptions &options) {
  return options.memoryLimit.value_or(setting.cluster.device.memoryBytes);
}

std::optional<PlanningProblem> plan::makeProblem(const Setting &setting,
                                                 const PlanOptions &options,
                                                 bool names,
                                                 const Fixed *present) {
  SplitRules rules{setting.devices.roles, options.maxStrategies};
  ProblemOptions planning;
  planning.links = setting.devices.links;
  planning.residentNanoseconds = residentPrice(setting.devices);
  planning.memoryLimit = memoryLimit(setting, options);
  planning.maxStrategies = options.maxStrategies;
  planning.names = names;
  planning.control = &options.control;
  planning.present = present;
  return buildProblem(setting.dataflow, setting.devices.grid,
                      setting.cluster.device, rules, setting.fixed, planning);
}

/// `at node '/h/MatMul' (nn.matmul) in 'h.3.attn'`, for the operator there.
static std::string whereIs(const Dataflow &dataflow, int64_t time) {
  for (const Site &site : dataflow.sites) {
    if (site.time == time) {
      auto scope = site.op->getAttrOfType<StringAttr>("nn.scope");
      return "at " + nn::describeLocation(site.op->getLoc()) + " (" +
             site.op->getName().getStringRef().str() + ")" +
             (scope ? " in '" + scope.getValue().str() + "'" : "");
    }
  }
  return "when an entry function returns";
}

/// The solver's message, which counts operators where people name them.
static std::string tellShortage(const Dataflow &dataflow,
                                const search::Outcome &outcome) {
  std::string message = outcome.message;
  if (outcome.time) {
    std::string time = "at time " + std::to_string(*outcome.time) + " ";
    if (size_t at = message.find(time); at != std::string::npos) {
      message.replace(at, time.size(), whereIs(dataflow, *outcome.time) + " ");
    }
  }
  return message;
}

/// Names the limit and where it comes from, where it binds, and what would
/// help.
static std::string explainInfeasible(const Setting &setting,
                                     const PlanOptions &options,
                                     const search::Outcome &outcome) {
  int64_t bytes = 0;
  for (const DataflowValue &tensor : setting.dataflow.values) {
    if (tensor.kind == DataflowValue::Kind::Global) {
      bytes += *nn::byteCount(tensor.type);
    }
  }
  std::string origin =
      options.memoryLimit
          ? "--memory-limit"
          : "what a device of the cluster " +
                llvm::StringRef(setting.cluster.name).split(':').first.str() +
                " has";
  return "no plan fits into the memory limit of " +
         std::to_string(memoryLimit(setting, options)) + " bytes per device (" +
         origin + "): " + tellShortage(setting.dataflow, outcome) +
         "; the globals have " + std::to_string(bytes) + " bytes over " +
         std::to_string(setting.devices.grid.numPositions()) +
         " devices; raise --memory-limit or take more devices";
}

/// The objective has the price of globals at rest in it, which is no time, and
/// constants, which are there before a run.
static PlanReport reportOf(const Setting &setting,
                           const PlanningProblem &planning,
                           const search::Outcome &outcome) {
  const search::Solution &solution = outcome.solution;
  PlanReport report;
  report.stopped = outcome.stopped;
  report.nodes = int64_t(planning.problem.nodes.size());
  report.edges = int64_t(planning.problem.edges.size());
  search::Wide held = 0;
  for (auto [index, tensor] : llvm::enumerate(setting.dataflow.values)) {
    if (tensor.kind != DataflowValue::Kind::Global) {
      continue;
    }
    unsigned number = planning.valueNodes[index];
    const search::Node &node = planning.problem.nodes[number];
    held += node.costs[solution.assignment[number]];
    report.residentBytes += node.usages[solution.assignment[number]];
    report.parameterBytes += *nn::byteCount(tensor.type);
  }
  for (auto [index, site] : llvm::enumerate(setting.dataflow.sites)) {
    if (isa<nn::ConstantOp>(site.op)) {
      unsigned number = planning.siteNodes[index];
      held += planning.problem.nodes[number].costs[solution.assignment[number]];
    }
  }
  report.nanoseconds = int64_t(solution.cost - held);
  report.objective = int64_t(solution.cost);
  report.lowerBound = int64_t(solution.lowerBound);
  report.peakBytes = int64_t(solution.peak);
  return report;
}

/// `any data model`: one word per axis.
static std::string rolesText(llvm::ArrayRef<AxisRole> roles) {
  constexpr llvm::StringLiteral kNames[] = {"any", "data", "model"};
  std::string text;
  for (AxisRole role : roles) {
    text += (text.empty() ? "" : " ") + kNames[unsigned(role)].str();
  }
  return text;
}

static PlanRecord recordOf(const Setting &setting, const PlanOptions &options,
                           const search::Outcome &outcome,
                           const PlanReport &report) {
  PlanRecord record;
  record.cluster = setting.cluster.name;
  record.roles = rolesText(setting.devices.roles);
  record.batchDim = options.batchDim;
  record.memoryLimit = options.memoryLimit;
  record.maxStrategies = int64_t(options.maxStrategies);
  record.solver = options.solver;
  record.seed = int64_t(options.seed);
  record.work = options.work;
  record.gap = options.gap;
  record.pinned = llvm::count_if(
      setting.fixed.sites, [](const auto &split) { return split.has_value(); });
  record.ended = search::stoppedName(outcome.stopped);
  record.workDone = outcome.work;
  record.nanoseconds = report.nanoseconds;
  record.objective = report.objective;
  record.lowerBound = report.lowerBound;
  record.peakBytes = report.peakBytes;
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

/// Nothing was found before time or a person ended the planner in `phase`.
static Status cutShort(search::Stopped why, llvm::StringRef phase) {
  return Status(ExitCode::NoPlan,
                (why == search::Stopped::Time
                     ? "the time limit came " + phase +
                           ", before the first plan; a larger --time-limit "
                           "leaves time for one"
                     : "interrupted " + phase + ", before the first plan")
                    .str());
}

/// What the request cannot have, and what the plan makes of it.
static void addWarnings(const Setting &setting, const PlanOptions &options,
                        const PlanningProblem &planning,
                        const search::Outcome &outcome, PlanReport &report) {
  report.warnings =
      warnOfRequest(setting.dataflow, setting.devices, options.batchDim);
  if (auto warning =
          warnOfReplication(setting.dataflow, planning, setting.devices.grid,
                            outcome.solution.assignment)) {
    report.warnings.push_back(*warning);
  }
  if (auto note = noteAxisNames(options.grid.mesh, setting.devices)) {
    report.notes.push_back(*note);
  }
}

static search::Options solverOptions(const PlanOptions &options) {
  search::Options solver;
  solver.seed = options.seed;
  solver.work = options.work;
  solver.gap = options.gap;
  solver.threads = 2;
  solver.stop = options.control.stop;
  solver.onProgress = options.control.onProgress;
  solver.start = steadySeconds();
  if (options.control.deadline) {
    solver.timeLimit = *options.control.deadline - solver.start;
  }
  return solver;
}

/// What the solver found nothing for.
static Status explainNoPlan(const Setting &setting, const PlanOptions &options,
                            const search::Outcome &outcome) {
  if (outcome.verdict == search::Verdict::Infeasible) {
    return Status(ExitCode::Infeasible,
                  explainInfeasible(setting, options, outcome));
  }
  if (outcome.stopped == search::Stopped::Time ||
      outcome.stopped == search::Stopped::Interrupted) {
    return cutShort(outcome.stopped, "while plans were searched");
  }
  return Status(ExitCode::NoPlan, explainInfeasible(setting, options, outcome));
}

static Status noSolver(const std::string &name) {
  std::string names = "random";
  for (const search::Solver &solver : search::solvers()) {
    names += ", " + std::string(solver.name);
  }
  return Status(ExitCode::Usage,
                "no solver is called '" + name + "'; there are " + names);
}

Expected<PlanReport> planModule(ModuleOp module, const PlanOptions &options) {
  if (options.solver == "random") {
    return planAtRandom(module, options);
  }
  const search::Solver *solver = search::findSolver(options.solver);
  if (!solver) {
    return noSolver(options.solver);
  }
  Expected<Setting> setting = prepare(module, options);
  if (!setting) {
    return setting.status();
  }
  std::optional<PlanningProblem> planning =
      makeProblem(*setting, options, false);
  if (!planning) {
    return cutShort(options.control.struck(),
                    "while the planning problem was built");
  }
  search::Outcome outcome =
      solver->solve(planning->problem, solverOptions(options));
  if (outcome.verdict != search::Verdict::Solved) {
    return explainNoPlan(*setting, options, outcome);
  }
  if (auto wrong = search::check(planning->problem, outcome.solution)) {
    return Status(ExitCode::Internal, "the solver's plan is wrong: " + *wrong);
  }
  annotate(setting->dataflow, *planning, setting->grid,
           outcome.solution.assignment);
  PlanReport report = reportOf(*setting, *planning, outcome);
  writeRecord(module, recordOf(*setting, options, outcome, report),
              setting->dataflow);
  addWarnings(*setting, options, *planning, outcome, report);
  if (options.control.onPlan) {
    options.control.onPlan(report);
  }
  return report;
}

Expected<search::Problem> planningProblem(ModuleOp module,
                                          const PlanOptions &options) {
  Expected<Setting> setting = prepare(module, options);
  if (!setting) {
    return setting.status();
  }
  std::optional<PlanningProblem> planning =
      makeProblem(*setting, options, true);
  return planning ? Expected<search::Problem>(std::move(planning->problem))
                  : cutShort(options.control.struck(),
                             "while the planning problem was built");
}

} // namespace divisi
