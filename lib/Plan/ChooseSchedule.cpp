//===- ChooseSchedule.cpp - The schedule of a planned entry ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseSchedule.h"

#include "ShardBytes.h"
#include "dialects/NN/Shapes.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/OperationCost.h"
#include "divisi/Stages/PipelineSearch.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace divisi::plan {

std::vector<size_t> stagesOfChunks(const PipelineRequest &request) {
  auto stages = size_t(request.stages);
  auto perStage = size_t(request.numChunksPerStage());
  return request.schedule == "wave" ? waveStages(stages, perStage / 2)
                                    : roundStages(stages, perStage);
}

//===----------------------------------------------------------------------===//
// What steps take and keep
//===----------------------------------------------------------------------===//

namespace {

/// Adds up the steps of one entry. One use.
class ChunkPricer {
public:
  ChunkPricer(func::FuncOp entry, size_t chunks, const Cluster &cluster)
      : entry_(entry), cluster_(cluster), costs_(chunks) {}

  std::vector<ChunkCost> run();

private:
  void addTimes();
  void addValue(Value value, const PipelineStep &maker);
  int64_t sending(int64_t bytes) const;

  func::FuncOp entry_;
  const Cluster &cluster_;
  std::vector<ChunkCost> costs_;
};

} // namespace

/// Of the micro-batch that is there.
void ChunkPricer::addTimes() {
  OperationCost cost(entry_->getParentOfType<ModuleOp>(), cluster_);
  cost.enter(entry_.front());
  for (auto op : entry_.front().getOps<nn::LoopInterface>()) {
    std::optional<PipelineStep> step = pipe::getStep(op);
    if (!step || !spmd::getSplit(op)) {
      continue;
    }
    FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
    if (failed(strategy)) {
      continue; // verify-plan says what is wrong
    }
    ChunkCost &own = costs_[step->chunk];
    (step->phase == Phase::Forward         ? own.forward
     : step->phase == Phase::InputGradient ? own.inputGradient
                                           : own.weightGradient) +=
        cost.ofOperator(op, *strategy);
  }
}

/// Between neighbours, on the links of the outermost level.
int64_t ChunkPricer::sending(int64_t bytes) const {
  const LinkLevel &links = cluster_.levels.back();
  return links.latencyNanoseconds +
         int64_t(double(bytes) * 1e9 / links.bytesPerSecond);
}

/// What `value` costs its own chunk and others.
void ChunkPricer::addValue(Value value, const PipelineStep &maker) {
  int64_t bytes = shardBytes(value);
  bool isForward = maker.phase == Phase::Forward;
  std::optional<size_t> sentTo;
  llvm::SmallVector<size_t, 2> keepers;
  for (Operation *user : value.getUsers()) {
    std::optional<PipelineStep> step = pipe::getStep(user);
    if (!step) {
      continue;
    }
    if (step->chunk != maker.chunk && !sentTo) {
      sentTo = step->chunk;
    }
    if (isForward && step->phase != Phase::Forward &&
        !llvm::is_contained(keepers, step->chunk)) {
      keepers.push_back(step->chunk);
    }
  }
  for (size_t chunk : keepers) {
    costs_[chunk].kept += bytes;
  }
  if (sentTo) {
    (*sentTo > maker.chunk ? costs_[maker.chunk].sends
                           : costs_[maker.chunk].sendsBack) += sending(bytes);
  }
}

std::vector<ChunkCost> ChunkPricer::run() {
  addTimes();
  for (Operation &op : entry_.front()) {
    std::optional<PipelineStep> step = pipe::getStep(&op);
    if (step) {
      for (Value result : op.getResults()) {
        addValue(result, *step);
      }
    }
  }
  return std::move(costs_);
}

std::vector<ChunkCost> costsOfChunks(func::FuncOp entry, size_t chunks,
                                     const Cluster &cluster) {
  return ChunkPricer(entry, chunks, cluster).run();
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

/// What globals take on the fullest device of each stage, in bytes.
static std::vector<int64_t> restingBytes(ModuleOp module, size_t stages) {
  std::vector<int64_t> bytes(stages);
  SmallVector<spmd::GridOp> grids(module.getOps<spmd::GridOp>());
  for (auto global : module.getOps<nn::GlobalOp>()) {
    if (spmd::PlaceAttr place = spmd::getPlace(global)) {
      spmd::GridOp grid = spmd::lookupGrid(global, place.getGrid());
      auto stage = size_t(llvm::find(grids, grid) - grids.begin());
      if (stage < stages) {
        bytes[stage] += shardBytes(global);
      }
    }
  }
  return bytes;
}

/// What micro-batches may take on each stage. No less than those of 1F1B take:
/// whether these fit is judged by what devices hold.
static std::vector<int64_t> roomOf(func::FuncOp entry,
                                   const PipelineRequest &request,
                                   const PipelineTimes &least,
                                   const Cluster &cluster) {
  std::vector<int64_t> resting =
      restingBytes(entry->getParentOfType<ModuleOp>(), least.stages.size());
  int64_t limit = cluster.memoryLimit(cluster.pace(), request.memoryLimit);
  std::vector<int64_t> room;
  for (auto [bytes, use] : llvm::zip_equal(resting, least.stages)) {
    // Gradients and what steps need beside what they keep.
    int64_t other =
        use.peakBytes / int64_t(std::max<size_t>(use.peakMicroBatches, 1)) +
        bytes;
    room.push_back(std::max(use.peakBytes, limit - bytes - other));
  }
  return room;
}

static PipelineSchedule searchOrder(func::FuncOp entry, const StepKinds &kinds,
                                    const PipelineRequest &request,
                                    const Cluster &cluster) {
  std::vector<size_t> stageOf = stagesOfChunks(request);
  auto count = size_t(kinds.numMicroBatches);
  std::vector<ChunkCost> costs = costsOfChunks(entry, stageOf.size(), cluster);
  std::vector<int64_t> all(size_t(request.stages),
                           std::numeric_limits<int64_t>::max());
  ListPolicy lean{.splits = false, .fill = 0};
  std::optional<PipelineSchedule> least =
      listSchedule(stageOf, count, costs, all, lean);
  assert(least && "without limits there is an order");
  std::optional<FoundSchedule> found =
      searchSchedule(stageOf, count, costs,
                     roomOf(entry, request, simulate(*least, costs), cluster));
  PipelineSchedule schedule = found ? found->schedule : *least;
  if (request.schedule != "auto") {
    schedule.name = request.schedule;
  }
  return schedule;
}

Expected<PipelineSchedule> chooseSchedule(func::FuncOp entry,
                                          const StepKinds &kinds,
                                          const PipelineRequest &request,
                                          const Cluster &cluster) {
  auto stages = size_t(request.stages);
  auto count = size_t(kinds.numMicroBatches);
  auto perStage = size_t(request.numChunksPerStage());
  const std::string &name = request.schedule;
  if (!kinds.isTraining) {
    if (name != "auto" && name != "stream") {
      return makeError(ExitCode::Usage, "--schedule ", name,
                       " orders forward and backward steps, and the program "
                       "has no backward steps: use stream, or train (--train)");
    }
    PipelineSchedule schedule = makeStream(stages, count);
    if (perStage > 1) {
      // Rounds of as many micro-batches as there are stages.
      PipelineSchedule both = makeInterleaved(stages, perStage, count);
      for (std::vector<PipelineStep> &order : both.order) {
        llvm::erase_if(order, [](const PipelineStep &step) {
          return step.phase != Phase::Forward;
        });
      }
      both.name = schedule.name;
      return both;
    }
    return schedule;
  }
  if (name == "stream") {
    return makeError(ExitCode::Usage, "--schedule stream orders forward steps, "
                                      "and the program has backward steps: use "
                                      "1f1b, or leave it out");
  }
  if (name == "gpipe") {
    return makeGPipe(stages, count);
  }
  if (name == "1f1b") {
    return make1F1B(stages, count);
  }
  if (name == "interleaved") {
    return makeInterleaved(stages, perStage, count);
  }
  if (name == "zero-bubble-h1") {
    return makeZeroBubbleH1(stages, count);
  }
  if (name == "zero-bubble-h2") {
    return makeZeroBubbleH2(stages, count);
  }
  return searchOrder(entry, kinds, request, cluster); // auto, wave
}

} // namespace divisi::plan
