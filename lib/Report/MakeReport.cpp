//===- MakeReport.cpp - Read a report off a partitioned module ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Report.h"

#include "Describe.h"
#include "Parallelism.h"
#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/OperationCost.h"
#include "divisi/Profile/HostProcessor.h"

#include "divisi/Support/CheckedMath.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;
using namespace divisi;

namespace {

/// Builds the report of one module.
class ReportBuilder {
public:
  ReportBuilder(ModuleOp module, const Cluster &cluster)
      : module_(module), cluster_(cluster), cost_(module, cluster) {}

  Expected<Report> run();

private:
  void addGrids();
  void addKinds();
  void addWeights();
  std::string nameOfGrid(const Grid &value);
  void addTensors(func::FuncOp function, const std::string &entry);
  Status addOperator(nn::LoopInterface op, ReportRow row);
  Status addStep(spmd::StepInterface step, ReportRow row);
  void addTransfer(spmd::TransferOp op, ReportRow row);
  Status addRecords();

  /// For whom a function runs, and how often.
  struct Running {
    std::string entry;
    int64_t times = 1;
  };
  Status addFunction(func::FuncOp function, const Running &running);
  Status addBody(nn::LoopOp loop, const Running &running);

  ModuleOp module_;
  const Cluster &cluster_;
  Report report_;
  OperationCost cost_;
  Parallelism parallelism_;
  std::set<std::string> bodies_; ///< That were added, by name.
};

} // namespace

/// The bits of an element of `type`, in memory.
static int64_t widthOf(Type type) {
  return nn::elementBits(getElementTypeOrSelf(type));
}

static GridLayout layoutOf(spmd::LocalAttr local) {
  return {local.getGrid(), local.getLayout()};
}

static std::vector<GridLayout> layoutsOf(TypeRange types) {
  std::vector<GridLayout> layouts;
  for (Type type : types) {
    if (spmd::LocalAttr local = spmd::getLocal(type)) {
      layouts.push_back(layoutOf(local));
    }
  }
  return layouts;
}

/// Devices are numbered from 0 over all grids.
void ReportBuilder::addGrids() {
  for (auto grid : module_.getOps<spmd::GridOp>()) {
    ReportGrid out;
    out.name = grid.getSymName().str();
    out.axes = grid.getValue();
    for (int64_t device : grid.getDeviceIds()) {
      out.devices.push_back(device);
      if (size_t(device) >= report_.devices.size()) {
        report_.devices.resize(device + 1);
      }
    }
    report_.grids.push_back(std::move(out));
  }
}

/// Limits are the planner's; a plan by hand has those of the machine.
void ReportBuilder::addKinds() {
  std::optional<int64_t> given =
      report_.plan ? report_.plan->memoryLimit : std::nullopt;
  for (auto [number, device] : llvm::enumerate(report_.devices)) {
    const DeviceKind &kind = cluster_.kindOf(int64_t(number));
    device.kind = kind.name;
    device.limitBytes = cluster_.memoryLimit(kind, given);
  }
  std::optional<int64_t> least;
  for (const ReportGrid &grid : report_.grids) {
    for (int64_t device : grid.devices) {
      int64_t limit = report_.devices[device].limitBytes;
      least = std::min(least.value_or(limit), limit);
    }
  }
  report_.memoryLimit =
      least.value_or(cluster_.memoryLimit(cluster_.pace(), given));
  report_.memoryLimitIsGiven = report_.memoryLimit == given;
}

/// A global without a grid is read by @init alone and rests nowhere.
void ReportBuilder::addWeights() {
  for (auto global : module_.getOps<nn::GlobalOp>()) {
    spmd::PlaceAttr place = spmd::getPlace(global);
    spmd::GridOp grid =
        place ? spmd::lookupGrid(global, place.getGrid()) : nullptr;
    if (!grid) {
      continue;
    }
    RankedTensorType type = global.getTensorType();
    FailureOr<Layout> layout =
        spmd::resolvePlace(place, grid.getValue(), type.getShape(),
                           [&] { return global.emitError(); });
    if (failed(layout)) {
      continue;
    }
    report_.weightBytes += *nn::byteCount(type);
    int64_t local =
        localBytes(grid.getValue(), *layout, type.getShape(), widthOf(type));
    for (int64_t device : grid.getDeviceIds()) {
      report_.devices[device].shardBytes += local;
      report_.devices[device].weightBytes += local;
    }
    report_.globals.push_back({global.getSymName().str(),
                               nn::stringifyGlobalKind(global.getKind()).str(),
                               std::vector<int64_t>(type.getShape()),
                               grid.getSymName().str(),
                               {grid.getValue(), *layout},
                               ""});
  }
}

/// A local tensor says what its grid is, not how it is called.
std::string ReportBuilder::nameOfGrid(const Grid &value) {
  for (auto grid : module_.getOps<spmd::GridOp>()) {
    if (grid.getValue() == value) {
      return grid.getSymName().str();
    }
  }
  return "";
}

/// Inputs and outputs of `function`, which are local tensors.
void ReportBuilder::addTensors(func::FuncOp function,
                               const std::string &entry) {
  auto add = [&](Type type, StringRef kind, std::string name) {
    spmd::LocalAttr local = spmd::getLocal(type);
    if (!local) {
      return;
    }
    report_.tensors.push_back({std::move(name), kind.str(),
                               std::vector<int64_t>(local.getGlobalShape()),
                               nameOfGrid(local.getGrid()), layoutOf(local),
                               entry});
  };
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    add(type, "input", argumentName(function, unsigned(index)));
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    add(type, "output", resultName(function, unsigned(index)));
  }
}

Status ReportBuilder::addStep(spmd::StepInterface step, ReportRow row) {
  std::optional<MoveCost> cost = cost_.ofStep(step);
  if (!cost) {
    return Status(ExitCode::Invalid,
                  row.op + " '" + row.node + "' has no grid or no layout");
  }
  row.nanoseconds = cost->nanoseconds;
  row.bytes = cost->bytes;
  row.grid = step.getGridAttr().getValue().str();
  for (StringRef axis : step.getAxesAttr().getAsValueRange<StringAttr>()) {
    row.axes.push_back(axis.str());
  }
  report_.rows.push_back(std::move(row));
  return Status();
}

/// What gathers all parts of `value`, if that is all that is done with it.
static spmd::AllGatherOp gatherOf(Value value) {
  return value && value.hasOneUse()
             ? dyn_cast<spmd::AllGatherOp>(*value.user_begin())
             : spmd::AllGatherOp();
}

void ReportBuilder::addTransfer(spmd::TransferOp op, ReportRow row) {
  row.grid = (op.getSourceGrid() + " to " + op.getTargetGrid()).str();
  row.operands = {layoutOf(spmd::getLocal(op.getFrom()))};
  row.results = {layoutOf(spmd::getLocal(op.getTo()))};
  MoveCost cost = cost_.ofTransfer(op);
  row.nanoseconds = row.arrivedNanoseconds = cost.nanoseconds;
  row.bytes = cost.bytes;
  Value whole = op.getOutput();
  while (spmd::AllGatherOp gather = gatherOf(whole)) {
    std::optional<MoveCost> step = cost_.ofStep(gather);
    row.arrivedNanoseconds += step ? step->nanoseconds : 0;
    whole = gather.getOutput();
  }
  if (whole) {
    spmd::LocalAttr local = spmd::getLocal(whole.getType());
    row.leastNanoseconds = cost_.leastOf(op, local.getLayout());
  }
  report_.rows.push_back(std::move(row));
}

/// `replication` is how often the grid holds the parts that the operator is
/// split into.
Status ReportBuilder::addOperator(nn::LoopInterface op, ReportRow row) {
  FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
  if (failed(strategy)) {
    return Status(ExitCode::Invalid,
                  row.op + " '" + row.node + "' has no strategy");
  }
  auto &[grid, nest, split] = *strategy;
  Grid value = grid.getValue();
  OpProfile profile = profileOf(op);
  row.grid = grid.getSymName().str();
  row.split = spmd::NamedSplit::of(nest, value, split);
  GridPace pace(cluster_, value, grid.getDeviceIds()),
      one(cluster_, Grid(), {});
  OpFusion fusion = cost_.fusionOf(op, pace);
  row.isFused = !fusion.fused.operands.empty();
  row.nanoseconds = cost_.ofOperator(op, *strategy);
  row.flops = nest.flops();
  int64_t splitOver = value.product(split.usedAxes());
  row.replication = double(value.numPositions()) / double(splitOver);
  row.movedBytes =
      movedBytes(nest, value, split, profile, fusion.fused) * splitOver;
  // There all layouts are equal.
  row.oneDeviceNanoseconds =
      opNanoseconds(nest, Grid(), Split::replicated(nest), profile, one,
                    cost_.fusionOf(op, one).fusible);
  report_.rows.push_back(std::move(row));
  parallelism_.count(op, *strategy);
  return Status();
}

/// The grid on which `op` makes its result.
static FlatSymbolRefAttr targetGrid(Operation &op) {
  if (auto step = dyn_cast<spmd::StepInterface>(op)) {
    return step.getGridAttr();
  }
  if (auto transfer = dyn_cast<spmd::TransferOp>(op)) {
    return transfer.getTargetGridAttr();
  }
  spmd::SplitAttr split = spmd::getSplit(&op);
  return split ? split.getGrid() : FlatSymbolRefAttr();
}

/// After split-ranks several functions can have the same operator. It counts
/// where the first device of its grid runs.
static bool countsIn(func::FuncOp function, Operation &op) {
  Attribute ranks = function->getAttr(spmd::SPMDDialect::kRanks);
  FlatSymbolRefAttr symbol = targetGrid(op);
  spmd::GridOp grid = symbol ? spmd::lookupGrid(&op, symbol) : nullptr;
  auto list = dyn_cast_or_null<DenseI32ArrayAttr>(ranks);
  return !grid || !list ||
         llvm::is_contained(list.asArrayRef(), grid.getDeviceIds().front());
}

/// Of the function, before split-ranks.
static StringRef nameOf(func::FuncOp function) {
  auto entry = function->getAttrOfType<StringAttr>(spmd::SPMDDialect::kEntry);
  return entry ? entry.getValue() : function.getSymName();
}

/// The parts of the body, once, as often as they run at most: rows of the entry
/// where it has the loop.
Status ReportBuilder::addBody(nn::LoopOp loop, const Running &running) {
  if (!bodies_.insert(loop.getBody().str()).second) {
    return Status();
  }
  Running inside = {running.entry, nn::repeatsOf(loop, running.times)};
  Status status;
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (status.isOk() && nameOf(function) == loop.getBody()) {
      status = addFunction(function, inside);
    }
  }
  return status;
}

/// Makes the numbers of `row` those of all its runs.
static void repeat(ReportRow &row, int64_t times) {
  for (int64_t *value : {&row.nanoseconds, &row.bytes, &row.movedBytes,
                         &row.oneDeviceNanoseconds}) {
    constexpr int64_t most = int64_t(1) << 50; // sums fit
    *value = std::min(most, checkedMul(*value, times).value_or(most));
  }
  row.flops *= double(times);
}

/// Constants and reads cost nothing, and are nobody's question.
Status ReportBuilder::addFunction(func::FuncOp function,
                                  const Running &running) {
  cost_.enter(function.getBody().front());
  for (Operation &op : function.getBody().front()) {
    if (!countsIn(function, op)) {
      continue;
    }
    ReportRow row = describe(op);
    row.entry = running.entry;
    row.operands = layoutsOf(op.getOperandTypes());
    row.results = layoutsOf(op.getResultTypes());
    Status status;
    size_t before = report_.rows.size();
    if (auto loop = dyn_cast<nn::LoopOp>(op)) {
      status = addBody(loop, running);
      cost_.enter(function.getBody().front());
      before = report_.rows.size();
    } else if (auto step = dyn_cast<spmd::StepInterface>(op)) {
      status = addStep(step, std::move(row));
    } else if (auto transfer = dyn_cast<spmd::TransferOp>(op)) {
      addTransfer(transfer, std::move(row));
    } else if (auto loops = dyn_cast<nn::LoopInterface>(op);
               loops && !isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(op)) {
      status = addOperator(loops, std::move(row));
    }
    if (!status.isOk()) {
      return status;
    }
    parallelism_.follow(op);
    if (report_.rows.size() > before) {
      repeat(report_.rows.back(), running.times);
    }
  }
  return Status();
}

Status ReportBuilder::addRecords() {
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module_);
  if (!record) {
    return record.status();
  }
  report_.plan = std::move(*record);
  Expected<std::optional<PrecisionRecord>> precision =
      getPrecisionRecord(module_);
  if (!precision) {
    return precision.status();
  }
  report_.precision = std::move(*precision);
  Expected<std::vector<rewrite::RuleRecord>> rules =
      rewrite::getRuleRecords(module_);
  if (!rules) {
    return rules.status();
  }
  report_.rules = std::move(*rules);
  Expected<std::optional<rewrite::SavingRecord>> saving =
      rewrite::getSavingRecord(module_);
  if (!saving) {
    return saving.status();
  }
  report_.saving = *saving;
  Expected<std::vector<rewrite::ProgramRecord>> programs =
      rewrite::getProgramRecords(module_);
  if (!programs) {
    return programs.status();
  }
  report_.programs = std::move(*programs);
  Expected<std::vector<TrialRecord>> trials = getTrialRecords(module_);
  if (!trials) {
    return trials.status();
  }
  report_.trials = std::move(*trials);
  return Status();
}

Expected<Report> ReportBuilder::run() {
  report_.countsKernels = runsKernelsOf(cluster_);
  llvm::raw_string_ostream os(report_.cluster);
  cluster_.print(os);
  report_.deviceKind = cluster_.pace().name;
  if (Status status = addRecords(); !status.isOk()) {
    return status;
  }
  addGrids();
  addKinds();
  addWeights();
  llvm::MapVector<StringRef, SmallVector<func::FuncOp>> entries;
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (!spmd::isEntry(function) || nn::isBody(function)) {
      continue;
    }
    std::string name = nameOf(function).str();
    addTensors(function, name);
    entries[nameOf(function)].push_back(function);
    Status status = addFunction(function, {name, 1});
    if (!status.isOk()) {
      return status;
    }
  }
  for (auto &[name, functions] : entries) {
    ReportCopies copies{hostCopiesOf(functions, cluster_), name.str(), ""};
    if (copies.copies > 0) {
      report_.spaceCopies.push_back(std::move(copies));
    }
  }
  for (ReportGrid &grid : report_.grids) {
    grid.parallelism = parallelism_.text(grid, report_.globals);
  }
  sumRows(report_);
  return std::move(report_);
}

Expected<Report> divisi::makeReport(ModuleOp module, const Cluster &cluster) {
  return ReportBuilder(module, cluster).run();
}
