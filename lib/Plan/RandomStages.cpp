//===- RandomStages.cpp - A legal pipeline, drawn at random ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomStages.h"

#include "ChooseSchedule.h"
#include "MoveChunks.h"
#include "StageCut.h"
#include "dialects/Pipe/Pipe.h"
#include "divisi/Plan/OrderSteps.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <set>

using namespace mlir;

namespace divisi::plan {

/// `count` of the numbers from 1 to `last`, in their order.
static std::vector<size_t> drawSome(size_t count, size_t last, Random &random) {
  std::set<size_t> some;
  while (some.size() < count) {
    some.insert(1 + random.below(last));
  }
  return {some.begin(), some.end()};
}

std::vector<int64_t> drawSizes(int64_t devices, int64_t stages,
                               Random &random) {
  std::vector<int64_t> sizes;
  int64_t begin = 0;
  for (size_t end :
       drawSome(size_t(stages - 1), size_t(devices - 1), random)) {
    sizes.push_back(int64_t(end) - begin);
    begin = int64_t(end);
  }
  sizes.push_back(devices - begin);
  return sizes;
}

//===----------------------------------------------------------------------===//
// Chunks and their stages
//===----------------------------------------------------------------------===//

/// Which stage has which chunk, of at most `nodes` chunks if that is left open.
void RandomStages::drawStages(size_t nodes) {
  auto stages = size_t(request_.stages);
  bool isOpen = request_.schedule == "auto" || request_.schedule == "stream";
  bool mayHaveSeveral = request_.numChunksPerStage() > 1 || isOpen;
  if (request_.chunksPerStage == 0 && mayHaveSeveral) {
    bool isWave = request_.schedule == "wave";
    int64_t step = isWave ? 2 : 1, least = request_.numChunksPerStage();
    int64_t drawn = least + step * int64_t(random_.below(isOpen ? 3 : 2));
    while (drawn > least && size_t(drawn) * stages > nodes) {
      drawn -= step;
    }
    request_.chunksPerStage = drawn;
  }
  stageOf_ = stagesOfChunks(request_);
  int64_t perStage = request_.numChunksPerStage();
  if (request_.schedule != "auto" || perStage == 1) {
    return;
  }
  if (perStage % 2 == 0 && random_.chance(30)) {
    stageOf_ = waveStages(stages, size_t(perStage / 2));
  } else if (random_.chance(50)) {
    random_.shuffle(stageOf_);
  }
}

/// Nodes in any order in which each stands behind those that it reads from, or
/// mostly that of the program.
std::vector<size_t> RandomStages::drawNodes(
    std::vector<std::set<size_t>> reads) {
  std::vector<std::vector<size_t>> readers(reads.size());
  std::set<size_t> ready;
  for (auto [node, own] : llvm::enumerate(reads)) {
    for (size_t from : own) {
      readers[from].push_back(node);
    }
    if (own.empty()) {
      ready.insert(node);
    }
  }
  static constexpr std::array<uint64_t, 3> kMixed = {0, 20, 100}; // in percent
  uint64_t mixed = random_.pick(kMixed);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t place = random_.chance(mixed) ? random_.below(ready.size()) : 0;
    size_t node = *std::next(ready.begin(), ptrdiff_t(place));
    ready.erase(node);
    order.push_back(node);
    for (size_t reader : readers[node]) {
      reads[reader].erase(node);
      if (reads[reader].empty()) {
        ready.insert(reader);
      }
    }
  }
  assert(order.size() == reads.size() && "nodes of loops are one");
  return order;
}

Status RandomStages::cut() {
  SizedPlans none(module_, {});
  StageCut cut(cluster_, none, 0, {});
  cut.findBranchNodes(module_);
  std::vector<std::set<size_t>> reads = cut.readsOfNodes(module_);
  drawStages(reads.size());
  if (reads.size() < stageOf_.size()) {
    return fewNodes(stageOf_.size(), reads.size());
  }
  std::vector<size_t> ends =
      drawSome(stageOf_.size() - 1, reads.size() - 1, random_);
  std::vector<int64_t> chunks(reads.size());
  int64_t chunk = 0;
  for (auto [place, node] : llvm::enumerate(drawNodes(std::move(reads)))) {
    chunk += llvm::is_contained(ends, place) ? 1 : 0;
    chunks[node] = chunk;
  }
  cut.assign(std::move(chunks));
  for (func::FuncOp entry : entriesOf(module_)) {
    spreadChunks(
        entry, [&](Operation *op) { return cut.chunkOf(op); }, chunks_);
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// A name that chooseSchedule() takes for these chunks, or that of any order.
std::string RandomStages::drawName(bool isTraining) {
  if (request_.schedule != "auto") {
    return request_.schedule;
  }
  auto stages = size_t(request_.stages);
  auto perStage = size_t(request_.numChunksPerStage());
  std::vector<std::string> names;
  bool isRound = stageOf_ == roundStages(stages, perStage);
  if (isRound && !isTraining) {
    names = {"stream"};
  } else if (isRound && perStage == 1) {
    names = {"gpipe", "1f1b", "zero-bubble-h1", "zero-bubble-h2"};
  } else if (isRound) {
    names = {"interleaved"};
  } else if (isTraining && perStage % 2 == 0 &&
             stageOf_ == waveStages(stages, perStage / 2)) {
    names = {"wave"};
  }
  return names.empty() || random_.chance(50) ? kDrawnSchedule
                                             : random_.pick(names);
}

/// One step after the other, any of those whose operands are there.
PipelineSchedule RandomStages::drawSchedule(const StepKinds &kinds) {
  PipelineSchedule schedule{
      kDrawnSchedule, size_t(kinds.numMicroBatches), stageOf_, {}};
  schedule.order.resize(size_t(request_.stages));
  std::vector<PipelineStep> ready;
  auto begin = [&](size_t chunk, size_t batch, Phase phase) {
    bool splits = phase == Phase::Backward && random_.chance(50);
    ready.push_back({chunk, batch, splits ? Phase::InputGradient : phase});
  };
  for (size_t batch = 0; batch < schedule.numMicroBatches; ++batch) {
    begin(0, batch, Phase::Forward);
  }
  while (!ready.empty()) {
    std::swap(random_.pick(ready), ready.back());
    PipelineStep step = ready.back();
    ready.pop_back();
    schedule.order[stageOf_[step.chunk]].push_back(step);
    bool isForward = step.phase == Phase::Forward;
    if (step.phase == Phase::InputGradient) {
      begin(step.chunk, step.microBatch, Phase::WeightGradient);
    }
    if (isForward && step.chunk + 1 < stageOf_.size()) {
      begin(step.chunk + 1, step.microBatch, Phase::Forward);
    } else if (isForward && kinds.isTraining) {
      begin(step.chunk, step.microBatch, Phase::Backward);
    } else if (step.phase != Phase::Forward &&
               step.phase != Phase::WeightGradient && step.chunk > 0) {
      begin(step.chunk - 1, step.microBatch, Phase::Backward);
    }
  }
  return schedule;
}

Status RandomStages::schedule() {
  for (func::FuncOp entry : entriesOf(module_)) {
    StepKinds kinds = labelSteps(entry, chunks_);
    PipelineRequest request = request_;
    request.schedule = drawName(kinds.isTraining);
    Expected<PipelineSchedule> schedule =
        request.schedule == kDrawnSchedule
            ? Expected<PipelineSchedule>(drawSchedule(kinds))
            : chooseSchedule(entry, kinds, request, cluster_);
    if (!schedule) {
      return schedule.status();
    }
    pipe::setSchedule(entry, *schedule);
    if (!pipe::getFoldedBatches(entry)) {
      orderSteps(entry);
    }
    first_ = first_ ? std::move(first_) : std::optional(*schedule);
  }
  return Status();
}

} // namespace divisi::plan
