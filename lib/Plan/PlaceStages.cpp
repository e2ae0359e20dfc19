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
              const PipelineRequest &request)
      : module_(module), cluster_(cluster), request_(request),
        stageOfChunk_(plan::stagesOfChunks(request)) {}

  Status run();

private:
  void spread(func::FuncOp entry, const plan::StageCut &cut);
  int64_t chunkOfValue(Value value) const;
  Status findBlocks(size_t size);
  spmd::GridOp makeGrid(spmd::GridOp grid, int64_t begin, const Twine &name);
  void makeGrids(spmd::GridOp grid, ArrayRef<size_t> kinds);
  void move(func::FuncOp entry);
  void moveBodies(func::FuncOp entry);
  void moveGlobals(ArrayRef<func::FuncOp> entries);
  Attribute onChunk(Attribute attribute, int64_t chunk);

  ModuleOp module_;
  const Cluster &cluster_;
  const PipelineRequest &request_;
  std::vector<size_t> stageOfChunk_;
  /// Where the devices of stages begin, per kind.
  std::vector<std::vector<int64_t>> blocks_;
  FlatSymbolRefAttr from_;               ///< The grid of the plan.
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

/// Devices of one kind that stand behind each other, as many as a stage has.
Status StagePlacer::findBlocks(size_t size) {
  int64_t devices = cluster_.numDevices(), length = int64_t(size);
  int64_t left = request_.stages;
  for (int64_t first = 0; first < devices && left > 0;) {
    int64_t last = first + 1;
    while (last < devices &&
           cluster_.kindOf(last).name == cluster_.kindOf(first).name) {
      ++last;
    }
    std::vector<int64_t> begins;
    for (; first + length <= last && left > 0; first += length, --left) {
      begins.push_back(first);
    }
    if (!begins.empty()) {
      blocks_.push_back(std::move(begins));
    }
    first = last;
  }
  if (left > 0) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ",
                     request_.stages, ", and the cluster ", cluster_.name,
                     " has room for ", request_.stages - left, " stages of ",
                     length,
                     " devices of one kind each: take more stages, or "
                     "fewer devices");
  }
  return Status();
}

/// Another `grid`, on as many devices from `begin` on.
spmd::GridOp StagePlacer::makeGrid(spmd::GridOp grid, int64_t begin,
                                   const Twine &name) {
  SmallVector<int64_t> own = grid.getDeviceIds();
  int64_t first = *llvm::min_element(own);
  for (int64_t &device : own) {
    device += begin - first;
  }
  OpBuilder builder(grid);
  auto clone = cast<spmd::GridOp>(builder.clone(*grid));
  clone.setDevicesAttr(builder.getDenseI64ArrayAttr(own));
  clone.setSymName(name.str());
  SymbolTable(module_).insert(clone);
  return clone;
}

/// Gives each stage the next devices of its kind.
void StagePlacer::makeGrids(spmd::GridOp grid, ArrayRef<size_t> kinds) {
  SmallVector<size_t> used(blocks_.size());
  for (int64_t stage = 0; stage < request_.stages; ++stage) {
    size_t kind = kinds[size_t(stage)];
    while (used[kind] == blocks_[kind].size()) {
      ++kind; // with one chunk a stage there are enough of each kind
    }
    grids_.push_back(FlatSymbolRefAttr::get(makeGrid(
        grid, blocks_[kind][used[kind]++], grid.getSymName() + Twine(stage))));
  }
  from_ = FlatSymbolRefAttr::get(grid);
}

/// The attribute with the grid of `chunk` in place of the plan's.
Attribute StagePlacer::onChunk(Attribute attribute, int64_t chunk) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) {
    return symbol == from_ ? grids_[stageOfChunk_[size_t(chunk)]] : symbol;
  });
  return replacer.replace(attribute);
}

void StagePlacer::move(func::FuncOp entry) {
  for (Operation &op : entry.front()) {
    int64_t chunk = chunkOf_.lookup(&op);
    for (StringRef name :
         {spmd::SPMDDialect::kSplit, spmd::SPMDDialect::kPlaces,
          spmd::SPMDDialect::kStops}) {
      if (Attribute attribute = op.getAttr(name)) {
        op.setAttr(name, onChunk(attribute, chunk));
      }
    }
  }
  for (unsigned i = 0; i != entry.getNumArguments(); ++i) {
    std::optional<int64_t> chunk;
    for (Operation *user : entry.getArgument(i).getUsers()) {
      int64_t own = chunkOf_.lookup(user);
      chunk = std::min(chunk.value_or(own), own);
    }
    if (spmd::PlaceAttr place = spmd::getArgPlace(entry, i)) {
      spmd::setArgPlace(
          entry, i, cast<spmd::PlaceAttr>(onChunk(place, chunk.value_or(0))));
    }
  }
  Operation *end = entry.front().getTerminator();
  for (unsigned i = 0; i != entry.getNumResults(); ++i) {
    if (spmd::PlaceAttr place = spmd::getResultPlace(entry, i)) {
      int64_t chunk = std::max<int64_t>(chunkOfValue(end->getOperand(i)), 0);
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
    if (spmd::PlaceAttr place = spmd::getPlace(global)) {
      int64_t chunk = chunkOfGlobal.lookup(global.getSymName());
      spmd::setPlace(global, cast<spmd::PlaceAttr>(onChunk(place, chunk)));
    }
  }
}

Status StagePlacer::run() {
  if (cluster_.levels.empty()) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ",
                     request_.stages, ": the cluster has one device");
  }
  SmallVector<spmd::GridOp> grids(module_.getOps<spmd::GridOp>());
  assert(grids.size() == 1 && "stages are made of a plan on one grid");
  SmallVector<func::FuncOp> entries;
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (nn::isEntry(function) && !nn::isBody(function)) {
      entries.push_back(function);
    }
  }
  spmd::GridOp planned = grids.front();
  if (Status status = findBlocks(planned.getDeviceIds().size());
      !status.isOk()) {
    return status;
  }
  if (blocks_.size() > 1 && request_.numChunksPerStage() > 1) {
    return makeError(ExitCode::Usage, "--schedule and --num-stages-per-device "
                                      "ask for several chunks a stage, and the "
                                      "stages have devices of several kinds: "
                                      "leave them out");
  }
  std::vector<plan::StageKind> kinds;
  for (const std::vector<int64_t> &begins : blocks_) {
    kinds.push_back(
        {makeGrid(planned, begins.front(), "kind"), int64_t(begins.size())});
  }
  plan::StageCut cut(cluster_, int64_t(stageOfChunk_.size()), kinds);
  Status isCut = cut.run(entries);
  for (plan::StageKind &kind : kinds) {
    kind.grid.erase();
  }
  if (!isCut.isOk()) {
    return isCut;
  }
  makeGrids(planned, cut.kindOfChunk());
  for (func::FuncOp entry : entries) {
    spread(entry, cut);
    moveBodies(entry);
    move(entry);
  }
  moveGlobals(entries);
  planned.erase();
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

/// Whether it is one of one chunk a stage.
static bool needsOne(llvm::StringRef schedule) {
  return schedule == "gpipe" || schedule == "1f1b" ||
         schedule.starts_with("zero-bubble");
}

int64_t PipelineRequest::numChunksPerStage() const {
  bool needsTwo = schedule == "interleaved" || schedule == "wave";
  return chunksPerStage != 0 ? chunksPerStage : needsTwo ? 2 : 1;
}

ArrayRef<StringLiteral> pipelineScheduleNames() {
  static constexpr StringLiteral kNames[] = {
      "auto",        "stream",         "gpipe",          "1f1b",
      "interleaved", "zero-bubble-h1", "zero-bubble-h2", "wave"};
  return kNames;
}

Status checkPipeline(const PipelineRequest &request) {
  constexpr int64_t kMostStages = Cluster::maxDevices, kMostChunks = 64;
  const std::string &name = request.schedule;
  if (request.stages < 1 || request.stages > kMostStages) {
    return makeError(ExitCode::Usage, "--pipeline-parallel-size is ",
                     request.stages, ", expected 1 to ", kMostStages);
  }
  if (!llvm::is_contained(pipelineScheduleNames(), name)) {
    return makeError(ExitCode::Usage, "--schedule ", name, ": there are ",
                     llvm::join(pipelineScheduleNames(), ", "));
  }
  if (request.chunksPerStage < 0 || request.chunksPerStage > kMostChunks) {
    return makeError(ExitCode::Usage, "--num-stages-per-device is ",
                     request.chunksPerStage, ", expected 1 to ", kMostChunks);
  }
  if (request.stages == 1 && (name != "auto" || request.chunksPerStage > 1)) {
    return makeError(ExitCode::Usage,
                     name != "auto" ? "--schedule" : "--num-stages-per-device",
                     " is of a pipeline: give --pipeline-parallel-size, too");
  }
  if (needsOne(name) && request.chunksPerStage > 1) {
    return makeError(ExitCode::Usage, "--schedule ", name,
                     " runs one stage per device, and "
                     "--num-stages-per-device is ",
                     request.chunksPerStage, ": use interleaved or wave");
  }
  if (name == "wave" && request.numChunksPerStage() % 2 != 0) {
    return makeError(ExitCode::Usage,
                     "--schedule wave goes down and up again, "
                     "so --num-stages-per-device is even, "
                     "and ",
                     request.chunksPerStage, " was given");
  }
  return Status();
}

Status placeStages(ModuleOp module, const PipelineRequest &request) {
  Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    return cluster.status();
  }
  Expected<std::optional<PlanRecord>> record = getPlanRecord(module);
  if (!record) {
    return record.status();
  }
  if (Status status = StagePlacer(module, *cluster, request).run();
      !status.isOk()) {
    return status;
  }
  if (*record) {
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
