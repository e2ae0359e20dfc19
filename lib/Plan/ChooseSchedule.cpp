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

#include "llvm/ADT/MapVector.h"
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
      : entry_(entry), cost_(entry->getParentOfType<ModuleOp>(), cluster),
        costs_(chunks) {}

  std::vector<ChunkCost> run();

private:
  void addTimes();
  void addKept(Value value, const PipelineStep &maker);
  void addSent(OpResult value, const PipelineStep &maker);

  func::FuncOp entry_;
  OperationCost cost_;
  std::vector<ChunkCost> costs_;
};

} // namespace

/// Of the micro-batch that is there.
void ChunkPricer::addTimes() {
  cost_.enter(entry_.front());
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
        cost_.ofOperator(op, *strategy);
  }
}

/// What chunks keep of `value` until its gradient comes.
void ChunkPricer::addKept(Value value, const PipelineStep &maker) {
  llvm::SmallVector<size_t, 2> keepers;
  for (Operation *user : value.getUsers()) {
    std::optional<PipelineStep> step = pipe::getStep(user);
    if (step && maker.phase == Phase::Forward &&
        step->phase != Phase::Forward &&
        !llvm::is_contained(keepers, step->chunk)) {
      keepers.push_back(step->chunk);
      costs_[step->chunk].kept += shardBytes(value);
    }
  }
}

/// Where the value of `operand` is wanted; nothing if that is not known.
static std::optional<spmd::ResolvedPlace> wantedPlace(OpOperand &operand) {
  auto user = dyn_cast<nn::LoopInterface>(operand.getOwner());
  if (!user) {
    return std::nullopt;
  }
  if (spmd::PlaceAttr stop = spmd::getStop(operand)) {
    FailureOr<spmd::ResolvedPlace> at = spmd::requirePlace(
        user, stop, operand.get().getType(),
        "the stop of operand " + Twine(operand.getOperandNumber()));
    return failed(at) ? std::nullopt : std::optional(*at);
  }
  FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(user);
  if (failed(strategy)) {
    return std::nullopt;
  }
  return spmd::ResolvedPlace{
      strategy->grid,
      operandLayout(strategy->nest, strategy->grid.getValue(), strategy->split,
                    operand.getOperandNumber())};
}

/// Where `value` rests for its users.
static std::optional<spmd::ResolvedPlace> placeOf(OpResult value) {
  auto maker = dyn_cast<nn::LoopInterface>(value.getOwner());
  if (!maker) {
    return std::nullopt;
  }
  if (spmd::PlaceAttr place = spmd::getPlace(value)) {
    FailureOr<spmd::ResolvedPlace> at =
        spmd::requirePlace(maker, place, value.getType(), "the result");
    return failed(at) ? std::nullopt : std::optional(*at);
  }
  FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(maker);
  if (failed(strategy)) {
    return std::nullopt;
  }
  return spmd::ResolvedPlace{
      strategy->grid, resultLayout(strategy->nest, strategy->grid.getValue(),
                                   strategy->split, value.getResultNumber())};
}

/// What `value` takes to the chunks that use it, as spmd-partition will bring
/// it there: what has come to a grid is there for others.
void ChunkPricer::addSent(OpResult value, const PipelineStep &maker) {
  auto isElsewhere = [&](OpOperand &use) {
    std::optional<PipelineStep> step = pipe::getStep(use.getOwner());
    return step && step->chunk != maker.chunk && spmd::getSplit(use.getOwner());
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses()) {
    if (isElsewhere(use)) {
      uses.push_back(&use);
    }
  }
  std::optional<spmd::ResolvedPlace> from;
  if (!uses.empty() && type && spmd::getSplit(value.getOwner())) {
    from = placeOf(value);
  }
  if (!from) {
    return;
  }
  llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
    return a->getOwner() == b->getOwner()
               ? a->getOperandNumber() < b->getOperandNumber()
               : a->getOwner()->isBeforeInBlock(b->getOwner());
  });
  llvm::MapVector<Operation *, SmallVector<Layout, 2>> arrived;
  for (OpOperand *use : uses) {
    std::optional<spmd::ResolvedPlace> to = wantedPlace(*use);
    if (!to || to->grid == from->grid) {
      continue;
    }
    SmallVector<Layout, 2> &known = arrived[to->grid];
    std::optional<Arrival> arrival =
        cost_.arrive(type, from->grid, spmd::withoutPartial(from->layout),
                     to->grid, to->layout, known);
    if (!arrival || arrival->known) {
      continue;
    }
    known.push_back(arrival->way.via);
    Layout whole = spmd::withoutPartial(to->layout);
    whole.canonicalize(to->grid.getValue(), type.getShape());
    known.push_back(whole);
    size_t user = pipe::getStep(use->getOwner())->chunk;
    ChunkCost &own = costs_[maker.chunk];
    (user > maker.chunk ? own.sends : own.sendsBack) +=
        arrival->way.nanoseconds();
  }
}

std::vector<ChunkCost> ChunkPricer::run() {
  addTimes();
  for (Operation &op : entry_.front()) {
    std::optional<PipelineStep> step = pipe::getStep(&op);
    if (step) {
      for (OpResult result : op.getResults()) {
        addKept(result, *step);
        addSent(result, *step);
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
