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
#include "RandomStages.h"

#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/PlanRecord.h"

#include <numeric>

using namespace mlir;

namespace divisi::plan {

namespace {
/// Per operator or body, the number of its stage.
using StageOf = llvm::function_ref<size_t(Operation *)>;

class Drawer {
public:
  Drawer(ModuleOp module, Random &random, size_t maxStrategies)
      : module_(module), random_(random), maxStrategies_(maxStrategies) {}

  /// The grids that are added then are those of one more stage.
  void beginStage() { begins_.push_back(grids_.size()); }
  void takeGrid(const Grid &grid, llvm::ArrayRef<int64_t> devices) {
    grids_.push_back(createGrid(module_, grid, devices));
  }
  void drawGrids(llvm::ArrayRef<int64_t> devices);
  void annotateProgram(const ModuleDataflow &dataflow, StageOf stageOf);

private:
  llvm::MutableArrayRef<spmd::GridOp> gridsOf(size_t stage);
  void addGrid(llvm::ArrayRef<int64_t> devices);
  llvm::SmallVector<GridAxis, 4> drawAxes(int64_t count);
  Split drawSplit(const Site &site, const Grid &grid);
  spmd::PlaceAttr drawPlace(llvm::ArrayRef<int64_t> shape, spmd::GridOp grid);
  spmd::PlaceAttr drawPlace(llvm::ArrayRef<int64_t> shape) {
    return drawPlace(shape, random_.pick(grids_));
  }

  ModuleOp module_;
  Random &random_;
  size_t maxStrategies_;
  std::vector<spmd::GridOp> grids_; ///< Of all stages.
  std::vector<size_t> begins_;      ///< Of these, the first one per stage.
  unsigned numAxes_ = 0;
};
} // namespace

/// The prime factors in any order, some of them merged, some with weights.
llvm::SmallVector<GridAxis, 4> Drawer::drawAxes(int64_t count) {
  constexpr size_t kMostAxes = 4;
  llvm::SmallVector<int64_t, 4> factors = primeFactors(count);
  random_.shuffle(factors);
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
    random_.shuffle(order);
  }
  takeGrid(Grid(drawAxes(int64_t(devices.size()))), order);
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

llvm::MutableArrayRef<spmd::GridOp> Drawer::gridsOf(size_t stage) {
  size_t begin = begins_[stage];
  size_t end = stage + 1 < begins_.size() ? begins_[stage + 1] : grids_.size();
  return llvm::MutableArrayRef(grids_).slice(begin, end - begin);
}

void Drawer::annotateProgram(const ModuleDataflow &dataflow, StageOf stageOf) {
  spmd::GridOp grid = grids_.front();
  std::optional<size_t> last;
  for (auto [op, site] : llvm::zip_equal(dataflow.ops, dataflow.sites)) {
    size_t stage = stageOf(op);
    llvm::MutableArrayRef<spmd::GridOp> own = gridsOf(stage);
    // Runs of operators on one grid, as real plans have them.
    if (isInBody(op) || last.value_or(stage) != stage) {
      grid = own.front();
    }
    last = stage;
    if (!isInBody(op) && random_.chance(25)) {
      grid = random_.pick(own);
    }
    spmd::setSplit(op, grid, site.nest, drawSplit(site, grid.getValue()));
  }
  for (const DataflowValue &tensor : dataflow.values) {
    switch (tensor.kind) {
    case DataflowValue::Kind::Global:
      spmd::setPlace(dataflow.globals[tensor.index], drawPlace(tensor.shape));
      break;
    case DataflowValue::Kind::Argument: {
      func::FuncOp entry = dataflow.entries[tensor.index];
      spmd::setArgPlace(
          entry, tensor.number,
          nn::isBody(entry)
              ? drawPlace(tensor.shape, gridsOf(stageOf(entry)).front())
              : drawPlace(tensor.shape));
      break;
    }
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
      Operation *user = users.front()->getOwner();
      spmd::PlaceAttr place =
          isInBody(user) ? drawPlace(shape, gridsOf(stageOf(user)).front())
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

/// The devices of each stage, in any order; what is asked of them is possible.
static std::vector<std::vector<int64_t>>
drawDevices(llvm::ArrayRef<int64_t> devices, const PlanOptions &options,
            Random &random) {
  if (options.pipelineStages == 1) {
    return {devices.vec()};
  }
  std::vector<int64_t> order = devices.vec(), sizes = options.stageDevices;
  if (sizes.empty()) {
    sizes = drawSizes(int64_t(order.size()), options.pipelineStages, random);
  }
  if (random.chance(25)) {
    random.shuffle(order);
  }
  std::vector<std::vector<int64_t>> stages;
  llvm::ArrayRef<int64_t> left = order;
  for (int64_t size : sizes) {
    stages.push_back(left.take_front(size_t(size)).vec());
    left = left.drop_front(size_t(size));
  }
  return stages;
}

/// The grids of each stage: any on its devices, or the mesh that is asked for.
static Status drawGrids(const Cluster &cluster, const PlanOptions &options,
                        Random &random, Drawer &drawer,
                        std::vector<std::vector<int64_t>> &stages) {
  int64_t all = cluster.numDevices();
  int64_t count = options.grid.devices.value_or(all);
  Status status = checkStages(options, std::min(count, all));
  if (!status.isOk() || count > all) {
    return status.isOk() ? noSuchNumber(count, cluster) : status;
  }
  if (!options.grid.mesh.empty()) {
    GridRequest request = options.grid;
    if (options.pipelineStages > 1) {
      request.devices = count / options.pipelineStages;
    }
    Expected<std::vector<DeviceGrid>> grids = candidateGrids(cluster, request);
    if (!grids) {
      return grids.status();
    }
    const DeviceGrid &first = grids->front();
    auto size = int64_t(first.devices.size());
    for (int64_t stage = 0; stage < options.pipelineStages; ++stage) {
      std::vector<int64_t> &own = stages.emplace_back(first.devices.begin(),
                                                      first.devices.end());
      for (int64_t &device : own) {
        device += stage * size;
      }
      drawer.beginStage();
      drawer.takeGrid(first.grid, own);
    }
    return Status();
  }
  std::vector<int64_t> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  stages = drawDevices(devices, options, random);
  for (const std::vector<int64_t> &own : stages) {
    drawer.beginStage();
    drawer.drawGrids(own);
  }
  return Status();
}

static PlanRecord recordOf(const Cluster &cluster, const PlanOptions &options) {
  PlanRecord record;
  record.cluster = cluster.name;
  record.batchDim = options.batchDim;
  record.maxStrategies = int64_t(options.maxStrategies);
  record.solver = options.solver;
  record.seed = int64_t(options.seed);
  record.ended = "drawn";
  return record;
}

/// Says of a pipeline what placeStages() says.
static void recordStages(const RandomStages &pipeline,
                         llvm::ArrayRef<std::vector<int64_t>> stages,
                         PlanRecord &record) {
  std::vector<int64_t> sizes;
  for (const std::vector<int64_t> &devices : stages) {
    sizes.push_back(int64_t(devices.size()));
  }
  if (!llvm::all_equal(sizes)) {
    record.stageDevices = sizes;
  }
  record.stages = int64_t(stages.size());
  record.schedule = pipeline.scheduleOfFirst().name;
  record.microBatches = int64_t(pipeline.scheduleOfFirst().numMicroBatches);
}

static Status checkRandom(const PlanOptions &options) {
  if (options.grid.dataParallel || options.grid.tensorParallel ||
      options.memoryLimit) {
    return Status(ExitCode::Usage,
                  "the solver random takes a number of devices or a mesh and a "
                  "seed, no degrees of parallelism and no memory limit");
  }
  return checkPipeline(pipelineOf(options));
}

Expected<PlanReport> planAtRandom(ModuleOp module, const PlanOptions &options) {
  if (Status status = checkRandom(options); !status.isOk()) {
    return status;
  }
  PlanOptions asked = options;
  if (!asked.grid.devices && asked.grid.mesh.empty() && asked.cluster.empty()) {
    asked.grid.devices = std::max<int64_t>(4, 2 * asked.pipelineStages - 1);
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
  Random random(options.seed);
  Drawer drawer(module, random, options.maxStrategies);
  std::vector<std::vector<int64_t>> stages;
  Status status = drawGrids(*cluster, asked, random, drawer, stages);
  if (!status.isOk()) {
    return status;
  }
  PlanRecord record = recordOf(*cluster, options);
  setCluster(module, *cluster);
  if (options.pipelineStages == 1) {
    drawer.annotateProgram(*dataflow, [](Operation *) { return 0; });
  } else {
    RandomStages pipeline(module, *cluster, pipelineOf(asked), random);
    if (status = pipeline.cut(); !status.isOk()) {
      return status;
    }
    drawer.annotateProgram(
        *dataflow, [&](Operation *op) { return pipeline.stageOf(op); });
    if (status = pipeline.schedule(); !status.isOk()) {
      return status;
    }
    recordStages(pipeline, stages, record);
  }
  setPlanRecord(module, record);
  return PlanReport();
}

} // namespace divisi::plan
