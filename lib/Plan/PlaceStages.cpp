//===- PlaceStages.cpp - Stages of a pipeline on sub-grids ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlaceStages.h"

#include "ChooseSchedule.h"
#include "StageCut.h"
#include "StageGrids.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/OrderSteps.h"
#include "divisi/Plan/PlanRecord.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace divisi {

namespace {

/// Places the stages of one module. One use.
class StagePlacer {
public:
  StagePlacer(ModuleOp module, const Cluster &cluster,
              const PipelineRequest &request, ArrayRef<SizedPlan> plans)
      : module_(module), cluster_(cluster), request_(request),
        plans_(plans.empty() ? plan::SizedPlans(module)
                             : plan::SizedPlans(module, plans)),
        stageOfChunk_(plan::stagesOfChunks(request)) {}

  Status run();
  /// What a call takes on all stages, one after the other. Known of stages of
  /// several sizes.
  int64_t nanoseconds() const { return nanoseconds_; }

private:
  void spread(func::FuncOp entry, const plan::StageCut &cut);
  int64_t chunkOfValue(Value value) const;
  Expected<plan::StageKinds> equalKinds();
  Expected<plan::StageKinds> unequalKinds();
  void makeGrids(const plan::StageKinds &kinds, ArrayRef<size_t> kindOfChunk);
  void move(func::FuncOp entry);
  void moveBodies(func::FuncOp entry);
  void moveGlobals(ArrayRef<func::FuncOp> entries);
  void bringGlobals(func::FuncOp entry);
  Attribute onChunk(Attribute attribute, int64_t chunk);
  size_t planOf(int64_t chunk) const {
    return planOfStage_[stageOfChunk_[size_t(chunk)]];
  }
  template <typename Op> Op twinOn(int64_t chunk, Op op) const {
    return plans_.twin(planOf(chunk), op);
  }

  ModuleOp module_;
  const Cluster &cluster_;
  const PipelineRequest &request_;
  plan::SizedPlans plans_;
  std::vector<size_t> stageOfChunk_;
  int64_t nanoseconds_ = 0;
  std::vector<plan::DeviceRun> runs_; ///< In which stages may stand.
  std::vector<int64_t> sizes_;        ///< Per stage, its devices.
  std::vector<size_t> planOfStage_;
  SmallVector<FlatSymbolRefAttr> grids_; ///< Per stage.
  llvm::DenseMap<Operation *, int64_t> chunkOf_;
};

} // namespace

/// Where the operator is that makes `value`; -1 if that is not known.
int64_t StagePlacer::chunkOfValue(Value value) const {
  Operation *maker = value.getDefiningOp();
  auto known = maker ? chunkOf_.find(maker) : chunkOf_.end();
  return known == chunkOf_.end() ? -1 : known->second;
}

/// Gives all operators of `entry` a chunk. Those of no node, which make new
/// values of globals, are where their first user is, or the last operand.
void StagePlacer::spread(func::FuncOp entry, const plan::StageCut &cut) {
  llvm::StringMap<int64_t> globals; // the first chunk that reads one
  for (Operation &op : entry.front()) {
    if (std::optional<int64_t> chunk = cut.chunkOf(&op)) {
      chunkOf_[&op] = *chunk;
    }
  }
  for (auto read : entry.front().getOps<nn::ReadOp>()) {
    for (Operation *user : read.getValue().getUsers()) {
      if (auto known = chunkOf_.find(user); known != chunkOf_.end()) {
        auto [chunk, isNew] =
            globals.try_emplace(read.getGlobal(), known->second);
        chunk->second = std::min(chunk->second, known->second);
      }
    }
  }
  for (Operation &op : llvm::reverse(entry.front())) {
    if (chunkOf_.contains(&op)) {
      continue;
    }
    std::optional<int64_t> chunk;
    if (auto update = dyn_cast<nn::UpdateOp>(op)) {
      if (auto known = globals.find(update.getGlobal());
          known != globals.end()) {
        chunk = known->second;
      }
    }
    for (Operation *user : op.getUsers()) {
      if (auto known = chunkOf_.find(user); known != chunkOf_.end()) {
        chunk = std::min(chunk.value_or(known->second), known->second);
      }
    }
    if (chunk) {
      chunkOf_[&op] = *chunk;
    }
  }
  for (Operation &op : entry.front()) {
    if (chunkOf_.contains(&op)) {
      continue;
    }
    int64_t chunk = 0;
    for (Value operand : op.getOperands()) {
      chunk = std::max(chunk, chunkOfValue(operand));
    }
    chunkOf_[&op] = chunk;
  }
}

/// Stages of one size: of each run as many as there is room for.
Expected<plan::StageKinds> StagePlacer::equalKinds() {
  auto length = int64_t(plans_.grid(0).getDeviceIds().size());
  int64_t left = request_.stages;
  sizes_.assign(size_t(left), length);
  plan::StageKinds kinds;
  for (plan::DeviceRun run : plan::runsOf(cluster_)) {
    int64_t count = std::min(run.length / length, left);
    if (count > 0) {
      run.length = count * length;
      kinds.kinds.push_back({.pool = runs_.size(), .begin = run.begin});
      kinds.pools.push_back(count);
      runs_.push_back(run);
      left -= count;
    }
  }
  if (left > 0) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ",
                     request_.stages, ", and the cluster ", cluster_.name,
                     " has room for ", request_.stages - left, " stages of ",
                     length,
                     " devices of one kind each: take more stages, or "
                     "fewer devices");
  }
  if (runs_.size() == 1) { // any number of chunks
    kinds.pools.front() = int64_t(stageOfChunk_.size());
  }
  return kinds;
}

/// Stages of the sizes that are asked for, each in a run that has them.
Expected<plan::StageKinds> StagePlacer::unequalKinds() {
  plan::StageKinds kinds;
  kinds.isSized = true;
  kinds.memoryLimit = request_.memoryLimit;
  sizes_ = request_.stageDevices;
  for (size_t stage : stageOfChunk_) {
    kinds.sizes.push_back(request_.stageDevices[stage]);
  }
  for (const plan::DeviceRun &run : plan::runsOf(cluster_)) {
    for (size_t plan = 0; plan < plans_.count(); ++plan) {
      if (plans_.devices(plan) <= run.length) {
        kinds.kinds.push_back({.plan = plan,
                               .pool = runs_.size(),
                               .begin = run.begin,
                               .devices = plans_.devices(plan)});
      }
    }
    kinds.pools.push_back(run.length);
    runs_.push_back(run);
  }
  if (runs_.size() == 1 && llvm::sum_of(sizes_) <= runs_.front().length) {
    kinds.pools.front() = llvm::sum_of(kinds.sizes); // some of several chunks
  }
  return kinds;
}

/// Gives each stage devices of its kind. There is one kind alone, or a chunk
/// for each stage.
void StagePlacer::makeGrids(const plan::StageKinds &kinds,
                            ArrayRef<size_t> kindOfChunk) {
  std::vector<int64_t> begins(sizes_.size());
  for (size_t pool = 0; pool < runs_.size(); ++pool) {
    std::vector<size_t> stages;
    std::vector<int64_t> sizes;
    for (size_t stage = 0; stage < sizes_.size(); ++stage) {
      if (kinds.kinds[kindOfChunk[stage]].pool == pool) {
        stages.push_back(stage);
        sizes.push_back(sizes_[stage]);
      }
    }
    std::vector<int64_t> found = plan::beginsIn(runs_[pool], sizes, cluster_);
    for (auto [stage, begin] : llvm::zip_equal(stages, found)) {
      begins[stage] = begin;
    }
  }
  for (size_t stage = 0; stage < sizes_.size(); ++stage) {
    planOfStage_.push_back(kinds.kinds[kindOfChunk[stage]].plan);
    spmd::GridOp grid = plans_.grid(planOfStage_.back());
    grids_.push_back(FlatSymbolRefAttr::get(plan::gridAt(
        module_, grid, begins[stage], grid.getSymName() + Twine(stage))));
  }
}

/// An attribute of the plan of `chunk`, with the grid of its stage in place of
/// the plan's.
Attribute StagePlacer::onChunk(Attribute attribute, int64_t chunk) {
  auto from = FlatSymbolRefAttr::get(plans_.grid(planOf(chunk)));
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) {
    return symbol == from ? grids_[stageOfChunk_[size_t(chunk)]] : symbol;
  });
  return replacer.replace(attribute);
}

void StagePlacer::move(func::FuncOp entry) {
  for (Operation &op : entry.front()) {
    int64_t chunk = chunkOf_.lookup(&op);
    Operation *planned = plans_.twin(planOf(chunk), &op);
    for (StringRef name :
         {spmd::SPMDDialect::kSplit, spmd::SPMDDialect::kPlaces,
          spmd::SPMDDialect::kStops}) {
      if (Attribute attribute = planned->getAttr(name)) {
        op.setAttr(name, onChunk(attribute, chunk));
      } else {
        op.removeAttr(name);
      }
    }
  }
  for (unsigned i = 0; i != entry.getNumArguments(); ++i) {
    std::optional<int64_t> known;
    for (Operation *user : entry.getArgument(i).getUsers()) {
      int64_t own = chunkOf_.lookup(user);
      known = std::min(known.value_or(own), own);
    }
    int64_t chunk = known.value_or(0);
    if (auto place = spmd::getArgPlace(twinOn(chunk, entry), i)) {
      spmd::setArgPlace(entry, i, cast<spmd::PlaceAttr>(onChunk(place, chunk)));
    }
  }
  Operation *end = entry.front().getTerminator();
  for (unsigned i = 0; i != entry.getNumResults(); ++i) {
    int64_t chunk = std::max<int64_t>(chunkOfValue(end->getOperand(i)), 0);
    if (auto place = spmd::getResultPlace(twinOn(chunk, entry), i)) {
      spmd::setResultPlace(entry, i,
                           cast<spmd::PlaceAttr>(onChunk(place, chunk)));
    }
  }
}

/// A body runs where the loop stands that runs it.
void StagePlacer::moveBodies(func::FuncOp entry) {
  for (auto loop : entry.front().getOps<nn::LoopOp>()) {
    auto body = cast<func::FuncOp>(
        nn::lookupBody(loop, loop.getBodyAttr()).getOperation());
    for (Operation &inner : body.front()) {
      chunkOf_[&inner] = chunkOf_.lookup(loop);
    }
    moveBodies(body);
    move(body);
  }
}

/// A global rests on the first chunk that reads it, or else that updates it.
void StagePlacer::moveGlobals(ArrayRef<func::FuncOp> entries) {
  llvm::StringMap<int64_t> chunkOfGlobal;
  for (func::FuncOp entry : entries) {
    for (Operation &op : entry.front()) {
      StringRef global;
      if (auto read = dyn_cast<nn::ReadOp>(op)) {
        global = read.getGlobal();
      } else if (auto update = dyn_cast<nn::UpdateOp>(op)) {
        global = update.getGlobal();
      } else {
        continue;
      }
      int64_t chunk = chunkOf_.lookup(&op);
      auto [known, isNew] = chunkOfGlobal.try_emplace(global, chunk);
      known->second = std::min(known->second, chunk);
    }
  }
  for (auto global : module_.getOps<nn::GlobalOp>()) {
    int64_t chunk = chunkOfGlobal.lookup(global.getSymName());
    if (spmd::PlaceAttr place = spmd::getPlace(twinOn(chunk, global))) {
      spmd::setPlace(global, cast<spmd::PlaceAttr>(onChunk(place, chunk)));
    }
  }
}

/// A weight that rests on another stage comes once to a stage that reads it,
/// and not for each of its users and micro-batches.
void StagePlacer::bringGlobals(func::FuncOp entry) {
  llvm::DenseMap<std::pair<Operation *, Operation *>, Layout> brought;
  for (auto op : entry.front().getOps<nn::LoopInterface>()) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto read = operand.get().getDefiningOp<nn::ReadOp>();
      if (!read || !spmd::getSplit(op) || spmd::getStop(operand)) {
        continue;
      }
      FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
      auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
          read, read.getGlobalAttr());
      spmd::PlaceAttr place = spmd::getPlace(global);
      if (failed(strategy) || !place ||
          place.getGrid() == strategy->grid.getRef()) {
        continue;
      }
      Layout wanted = spmd::withoutPartial(
          operandLayout(strategy->nest, strategy->grid.getValue(),
                        strategy->split, operand.getOperandNumber()));
      Layout first =
          brought.try_emplace({read, strategy->grid}, wanted).first->second;
      spmd::setStop(operand,
                    spmd::makePlace(strategy->grid,
                                    global.getTensorType().getShape(), first));
    }
  }
}

Status StagePlacer::run() {
  if (cluster_.levels.empty()) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ",
                     request_.stages, ": the cluster has one device");
  }
  SmallVector<spmd::GridOp> before(module_.getOps<spmd::GridOp>());
  Expected<plan::StageKinds> kinds =
      plans_.hasSizes() ? unequalKinds() : equalKinds();
  if (!kinds) {
    return kinds.status();
  }
  if (runs_.size() > 1 && request_.numChunksPerStage() > 1) {
    return makeError(ExitCode::Usage, "--schedule and --num-stages-per-device "
                                      "ask for several chunks a stage, and the "
                                      "stages have devices of several kinds: "
                                      "leave them out");
  }
  plan::StageCut cut(cluster_, plans_, int64_t(stageOfChunk_.size()), *kinds);
  SmallVector<func::FuncOp> entries = plan::entriesOf(module_);
  if (Status status = cut.run(module_); !status.isOk()) {
    return status;
  }
  nanoseconds_ = cut.nanoseconds();
  makeGrids(*kinds, cut.kindOfChunk());
  for (func::FuncOp entry : entries) {
    spread(entry, cut);
    moveBodies(entry);
    move(entry);
  }
  moveGlobals(entries);
  for (func::FuncOp entry : entries) {
    bringGlobals(entry);
  }
  for (spmd::GridOp grid : before) {
    grid.erase();
  }
  for (func::FuncOp entry : entries) {
    plan::StepKinds steps = plan::labelSteps(entry, chunkOf_);
    Expected<PipelineSchedule> schedule =
        plan::chooseSchedule(entry, steps, request_, cluster_);
    if (!schedule) {
      return schedule.status();
    }
    pipe::setSchedule(entry, *schedule);
    if (!pipe::getFoldedBatches(entry)) {
      orderSteps(entry);
    }
  }
  return Status();
}

Status placeStages(ModuleOp module, const PipelineRequest &request,
                   ArrayRef<SizedPlan> plans) {
  Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    return cluster.status();
  }
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  if (!record) {
    return record.status();
  }
  StagePlacer placer(module, *cluster, request, plans);
  if (Status status = placer.run(); !status.isOk()) {
    return status;
  }
  if (*record) {
    if (!request.stageDevices.empty()) {
      (*record)->stageDevices = request.stageDevices;
      (*record)->nanoseconds = placer.nanoseconds();
      (*record)->judged = (*record)->simulated = (*record)->leastSum =
          std::nullopt;
    }
    // The bound was of one grid.
    (*record)->lowerBound.reset();
    (*record)->stages = request.stages;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (auto schedule = pipe::getSchedule(function)) {
        (*record)->schedule = schedule->name;
        (*record)->microBatches = int64_t(schedule->numMicroBatches);
        break;
      }
    }
    setPlanRecord(module, **record);
  }
  return Status();
}

} // namespace divisi
