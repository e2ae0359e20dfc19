//===- RandomPlan.cpp - A legal plan, drawn at random ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomPlan.h"

#include "Annotate.h"
#include "Choices.h"
#include "PlanningInputs.h"

#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanRecord.h"

#include <numeric>

using namespace mlir;

namespace divisi::plan {

namespace {
/// SplitMix64 (Steele et al.).
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}

  /// In [0, bound).
  uint64_t below(uint64_t bound) {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % bound;
  }
  bool chance(uint64_t percent) { return below(100) < percent; }
  template <typename List> auto &pick(List &list) {
    return list[below(list.size())];
  }

private:
  uint64_t state_;
};

class Drawer {
public:
  Drawer(ModuleOp module, uint64_t seed, size_t maxStrategies)
      : module_(module), random_(seed), maxStrategies_(maxStrategies) {}

  void takeGrid(const DeviceGrid &grid) {
    grids_.push_back(createGrid(module_, grid.grid, grid.devices));
  }
  void drawGrids(llvm::ArrayRef<int64_t> devices);
  void annotateProgram(const ModuleDataflow &dataflow);

private:
  void addGrid(llvm::ArrayRef<int64_t> devices);
  llvm::SmallVector<GridAxis, 4> drawAxes(int64_t count);
  Split drawSplit(const Site &site, const Grid &grid);
  spmd::PlaceAttr drawPlace(llvm::ArrayRef<int64_t> shape, spmd::GridOp grid);
  spmd::PlaceAttr drawPlace(llvm::ArrayRef<int64_t> shape) {
    return drawPlace(shape, random_.pick(grids_));
  }

  ModuleOp module_;
  Random random_;
  size_t maxStrategies_;
  std::vector<spmd::GridOp> grids_;
  unsigned numAxes_ = 0;
};
} // namespace

/// The prime factors in any order, some of them merged, some with weights.
llvm::SmallVector<GridAxis, 4> Drawer::drawAxes(int64_t count) {
  constexpr size_t kMostAxes = 4;
  llvm::SmallVector<int64_t, 4> factors = primeFactors(count);
  for (size_t i = factors.size(); i > 1; --i) {
    std::swap(factors[i - 1], factors[random_.below(i)]);
  }
  while (factors.size() > 1 &&
         (factors.size() > kMostAxes || random_.chance(30))) {
    int64_t last = factors.pop_back_val();
    factors.back() *= last;
  }
  llvm::SmallVector<GridAxis, 4> axes;
  for (int64_t factor : factors) {
    GridAxis &axis = axes.emplace_back();
    axis = {"a" + std::to_string(numAxes_++), factor};
    if (random_.chance(20)) {
      for (int64_t position = 0; position != factor; ++position) {
        axis.weights.push_back(1 + int64_t(random_.below(4)));
      }
    }
  }
  return axes;
}

void Drawer::addGrid(llvm::ArrayRef<int64_t> devices) {
  llvm::SmallVector<int64_t> order(devices);
  if (random_.chance(25)) {
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random_.below(i)]);
    }
  }
  Grid grid(drawAxes(int64_t(devices.size())));
  grids_.push_back(createGrid(module_, grid, order));
}

/// One or two grids over `devices`, then perhaps two parts of them.
void Drawer::drawGrids(llvm::ArrayRef<int64_t> devices) {
  addGrid(devices);
  if (devices.size() > 3 && random_.chance(50)) {
    addGrid(devices);
  }
  if (devices.size() > 1 && random_.chance(60)) {
    size_t part = 1 + random_.below(devices.size() - 1);
    drawGrids(devices.take_front(part));
    drawGrids(devices.drop_front(part));
  }
}

/// Nine times of ten something is split, if anything can be.
Split Drawer::drawSplit(const Site &site, const Grid &grid) {
  llvm::SmallVector<Split, 0> splits =
      enumerateSplits(site.nest, grid, maxStrategies_);
  if (splits.size() > 1 && random_.chance(95)) {
    return splits[1 + random_.below(splits.size() - 1)];
  }
  return splits[0];
}

spmd::PlaceAttr Drawer::drawPlace(llvm::ArrayRef<int64_t> shape,
                                  spmd::GridOp gridOp) {
  Grid grid = gridOp.getValue();
  Layout layout = Layout::replicated(shape.size());
  for (uint32_t axis = 0; axis != grid.numAxes(); ++axis) {
    uint64_t dim = random_.below(shape.size() + 1);
    if (dim != shape.size()) {
      layout.dims[dim].axes.push_back(AxisId{axis});
    }
  }
  return spmd::makePlace(gridOp, shape, layout);
}

/// A body runs on one grid.
static bool isInBody(Operation *op) {
  return nn::isBody(op->getParentOfType<FunctionOpInterface>());
}

void Drawer::annotateProgram(const ModuleDataflow &dataflow) {
  spmd::GridOp grid = grids_.front();
  for (auto [op, site] : llvm::zip_equal(dataflow.ops, dataflow.sites)) {
    // Runs of operators on one grid, as real plans have them.
    if (isInBody(op)) {
      grid = grids_.front();
    } else if (random_.chance(25)) {
      grid = random_.pick(grids_);
    }
    spmd::setSplit(op, grid, site.nest, drawSplit(site, grid.getValue()));
  }
  for (const DataflowValue &tensor : dataflow.values) {
    switch (tensor.kind) {
    case DataflowValue::Kind::Global:
      spmd::setPlace(dataflow.globals[tensor.index], drawPlace(tensor.shape));
      break;
    case DataflowValue::Kind::Argument:
      spmd::setArgPlace(dataflow.entries[tensor.index], tensor.number,
                        nn::isBody(dataflow.entries[tensor.index])
                            ? drawPlace(tensor.shape, grids_.front())
                            : drawPlace(tensor.shape));
      break;
    case DataflowValue::Kind::Result:
      if (tensor.consumers.size() > 1 && random_.chance(50)) {
        Operation *op = dataflow.ops[tensor.index];
        spmd::GridOp own = spmd::lookupGrid(op, spmd::getSplit(op).getGrid());
        spmd::setPlace(op->getResult(tensor.number),
                       drawPlace(tensor.shape, own));
      }
      break;
    }
  }
  for (unsigned stop = 0; stop != dataflow.stops.size(); ++stop) {
    if (random_.chance(50)) {
      llvm::SmallVector<OpOperand *> users = usersOf(dataflow, stop);
      llvm::ArrayRef<int64_t> shape =
          dataflow.values[dataflow.stops[stop].tensor].shape;
      spmd::PlaceAttr place = isInBody(users.front()->getOwner())
                                  ? drawPlace(shape, grids_.front())
                                  : drawPlace(shape);
      for (OpOperand *user : users) {
        spmd::setStop(*user, place);
      }
    }
  }
  for (const Output &output : dataflow.outputs) {
    spmd::setResultPlace(dataflow.entries[output.entry], output.number,
                         drawPlace(dataflow.values[output.tensor].shape));
  }
}

static Status checkUnplanned(ModuleOp module, const ModuleDataflow &dataflow) {
  bool planned = !module.getOps<spmd::GridOp>().empty();
  for (nn::LoopInterface op : dataflow.ops) {
    planned |= spmd::getSplit(op) != nullptr;
  }
  return planned ? Status(ExitCode::Usage,
                          "the module has strategies already, which the "
                          "solver random would overwrite; plan a module "
                          "without")
                 : Status();
}

Expected<PlanReport> planAtRandom(ModuleOp module, const PlanOptions &options) {
  if (options.grid.dataParallel || options.grid.tensorParallel ||
      options.memoryLimit) {
    return Status(ExitCode::Usage,
                  "the solver random takes a number of devices or a mesh and a "
                  "seed, no degrees of parallelism and no memory limit");
  }
  if (options.pipelineStages > 1) {
    return Status(ExitCode::Usage, "the solver random makes no pipeline; leave "
                                   "out --pipeline-parallel-size");
  }
  PlanOptions asked = options;
  if (!asked.grid.devices && asked.grid.mesh.empty() && asked.cluster.empty()) {
    asked.grid.devices = 4;
  }
  Expected<Cluster> cluster = clusterOf(module, asked);
  if (!cluster) {
    return cluster.status();
  }
  FailureOr<ModuleDataflow> dataflow = readDataflow(module, options.batchDim);
  if (failed(dataflow)) {
    return Status(ExitCode::Invalid, "the module cannot be planned");
  }
  if (Status status = checkUnplanned(module, *dataflow); !status.isOk()) {
    return status;
  }
  Drawer drawer(module, options.seed, options.maxStrategies);
  if (asked.grid.mesh.empty()) {
    llvm::SmallVector<int64_t> devices(
        asked.grid.devices.value_or(cluster->numDevices()));
    std::iota(devices.begin(), devices.end(), 0);
    drawer.drawGrids(devices);
  } else {
    Expected<std::vector<DeviceGrid>> grids =
        candidateGrids(*cluster, asked.grid);
    if (!grids) {
      return grids.status();
    }
    drawer.takeGrid(grids->front());
  }
  drawer.annotateProgram(*dataflow);
  PlanRecord record;
  record.cluster = cluster->name;
  record.batchDim = options.batchDim;
  record.maxStrategies = int64_t(options.maxStrategies);
  record.solver = options.solver;
  record.seed = int64_t(options.seed);
  record.ended = "drawn";
  setCluster(module, *cluster);
  setPlanRecord(module, record);
  return PlanReport();
}

} // namespace divisi::plan
