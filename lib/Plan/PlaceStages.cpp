//===- PlaceStages.cpp - Stages of a pipeline on sub-grids ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/PlaceStages.h"

#include "ChooseSchedule.h"
#include "MoveChunks.h"
#include "StageCut.h"
#include "StageGrids.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Plan/OrderSteps.h"
#include "divisi/Plan/PlanRecord.h"

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
  Expected<plan::StageKinds> equalKinds();
  Expected<plan::StageKinds> unequalKinds();
  void makeGrids(const plan::StageKinds &kinds, ArrayRef<size_t> kindOfChunk);

  ModuleOp module_;
  const Cluster &cluster_;
  const PipelineRequest &request_;
  plan::SizedPlans plans_;
  std::vector<size_t> stageOfChunk_;
  int64_t nanoseconds_ = 0;
  std::vector<plan::DeviceRun> runs_;    ///< In which stages may stand.
  std::vector<int64_t> sizes_;           ///< Per stage, its devices.
  std::vector<plan::ChunkPlace> places_; ///< Per stage.
};

} // namespace

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
    size_t plan = kinds.kinds[kindOfChunk[stage]].plan;
    spmd::GridOp grid = plans_.grid(plan);
    places_.push_back({plan, FlatSymbolRefAttr::get(plan::gridAt(
                                 module_, grid, begins[stage],
                                 grid.getSymName() + Twine(stage)))});
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
  std::vector<plan::ChunkPlace> places;
  for (size_t stage : stageOfChunk_) {
    places.push_back(places_[stage]);
  }
  plan::ChunkMover mover(module_, plans_, std::move(places));
  mover.run(entries, [&](Operation *op) { return cut.chunkOf(op); });
  for (spmd::GridOp grid : before) {
    grid.erase();
  }
  for (func::FuncOp entry : entries) {
    plan::StepKinds steps = plan::labelSteps(entry, mover.chunks());
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
