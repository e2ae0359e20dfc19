//===- FewBatches.cpp - What few micro-batches tell of all ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/FewBatches.h"

#include "ChooseSchedule.h"
#include "dialects/Pipe/Pipe.h"
#include "divisi/Cost/ModuleCluster.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <ranges>
#include <vector>

using namespace mlir;

namespace divisi {

PipelineSchedule firstMicroBatches(const PipelineSchedule &schedule,
                                   size_t count) {
  PipelineSchedule first = schedule;
  first.numMicroBatches = std::min(count, schedule.numMicroBatches);
  for (std::vector<PipelineStep> &order : first.order) {
    llvm::erase_if(order, [&](const PipelineStep &step) {
      return step.microBatch >= first.numMicroBatches;
    });
  }
  return first;
}

/// The only entry with micro-batches that the first one stands for.
static func::FuncOp entryIn(ModuleOp module) {
  func::FuncOp entry;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!pipe::getFoldedBatches(function)) {
      continue;
    }
    if (entry) {
      return {};
    }
    entry = function;
  }
  return entry;
}

/// What `entry` runs: on one stage, where nobody has made a schedule, one
/// micro-batch after the other.
static PipelineSchedule scheduleOf(func::FuncOp entry) {
  std::optional<PipelineSchedule> given = pipe::getSchedule(entry);
  return given ? *given : make1F1B(1, size_t(*pipe::getFoldedBatches(entry)));
}

/// What its steps take and keep; each the same on one stage, which then keeps
/// nothing from one micro-batch to the next.
static std::vector<ChunkCost> costsOf(func::FuncOp entry, size_t chunks,
                                      const Cluster &cluster) {
  return pipe::getSchedule(entry)
             ? plan::costsOfChunks(entry, chunks, cluster)
             : std::vector<ChunkCost>{
                   {.forward = 1, .inputGradient = 1, .weightGradient = 1}};
}

/// What stages keep of the first `count` micro-batches.
static std::vector<int64_t> keptOf(const PipelineSchedule &schedule,
                                   const std::vector<ChunkCost> &costs,
                                   size_t count) {
  std::vector<int64_t> kept;
  for (const StageUse &stage :
       simulate(firstMicroBatches(schedule, count), costs).stages) {
    kept.push_back(stage.peakBytes);
  }
  return kept;
}

/// The fewest micro-batches of which each stage keeps as much as of all; more
/// than `most` if that is not enough.
static size_t fewestThatFill(const PipelineSchedule &schedule,
                             const std::vector<ChunkCost> &costs, size_t most) {
  std::vector<int64_t> all = keptOf(schedule, costs, schedule.numMicroBatches);
  auto counts = std::views::iota(size_t(1), most + 1);
  return *std::ranges::partition_point(counts, [&](size_t count) {
    return keptOf(schedule, costs, count) != all;
  });
}

/// After how many micro-batches an order repeats itself; 0 if that is not
/// known.
static size_t periodOf(const PipelineSchedule &schedule) {
  llvm::StringRef name = schedule.name;
  if (name == "interleaved" || name.starts_with("zero-bubble")) {
    return schedule.numStages();
  }
  return name == "gpipe" || name == "1f1b" || name == "stream" ? 1 : 0;
}

/// How many operators there are when all micro-batches are written out.
static int64_t operatorsOfAll(func::FuncOp entry) {
  int64_t count = 0;
  for (Operation &op : entry.front()) {
    count += pipe::timesPerCall(&op);
  }
  return count;
}

/// So many are scheduled within seconds, where they repeat nothing that tells
/// the rest; on one stage, where few tell all but what overlaps at either end,
/// less.
static constexpr int64_t kMostOperators = 100'000, kMostOnOneStage = 20'000;

/// Where each further micro-batch changes the time by as much, so many are
/// enough to tell it.
static constexpr size_t kFewer = 4;

std::optional<FewBatches> FewBatches::of(ModuleOp module) {
  func::FuncOp entry = entryIn(module);
  Expected<Cluster> cluster = getCluster(module);
  if (!entry || !cluster) {
    return std::nullopt;
  }
  PipelineSchedule schedule = scheduleOf(entry);
  size_t period = periodOf(schedule);
  int64_t most = !pipe::getSchedule(entry) ? kMostOnOneStage
                 : period == 0             ? kMostOperators
                                           : 0;
  if (operatorsOfAll(entry) <= most) {
    return std::nullopt;
  }
  std::vector<ChunkCost> costs = costsOf(entry, schedule.numChunks(), *cluster);
  size_t stages = schedule.numStages(), all = schedule.numMicroBatches;
  // Zero-bubble H2 fills a pipeline with one less than twice its stages, and an
  // order that was found with as many as there is memory for.
  size_t limit = std::max(2 * stages, all / 3);
  size_t filling = fewestThatFill(schedule, costs, limit);
  // With one more, sums of gradients are there while it is full.
  size_t fewer = (filling <= limit ? std::max(filling, stages) : stages) + 1;
  if (period > 2) {
    fewer = (fewer + period - 1) / period * period;
  }
  FewBatches few;
  few.all_ = int64_t(all);
  few.fewer_ = int64_t(fewer);
  few.more_ = int64_t(2 * fewer);
  bool isSteady = period == 1 && schedule.name != "gpipe";
  if (isSteady) { // each further one takes as long, and keeps no more
    size_t others = std::max(kFewer, stages / 2);
    few.more_ = std::min(few.more_, int64_t(fewer + others));
  }
  if (few.fewer_ + few.more_ >= few.all_) {
    return std::nullopt;
  }
  few.isPeriodic_ = period != 0;
  auto measure = [&](int64_t count, int64_t &nanoseconds, int64_t &kept) {
    PipelineTimes times =
        simulate(firstMicroBatches(schedule, size_t(count)), costs);
    nanoseconds = times.nanoseconds;
    for (const StageUse &stage : times.stages) {
      kept = std::max(kept, stage.peakBytes);
    }
  };
  measure(few.fewer_, few.stepsOfFewer_, few.keptOfFewer_);
  measure(few.more_, few.stepsOfMore_, few.keptOfMore_);
  measure(few.all_, few.stepsOfAll_, few.keptOfAll_);
  return few;
}

int64_t FewBatches::bytes(int64_t ofFewer, int64_t ofMore) const {
  int64_t kept = keptOfMore_ - keptOfFewer_;
  double times = kept > 0 ? double(keptOfAll_ - keptOfMore_) / double(kept) : 0;
  return ofMore +
         int64_t(double(std::max<int64_t>(ofMore - ofFewer, 0)) * times);
}

int64_t FewBatches::nanoseconds(int64_t ofFewer, int64_t ofMore) const {
  int64_t steps = stepsOfMore_ - stepsOfFewer_;
  auto some = double(std::max<int64_t>(ofMore - ofFewer, 0));
  double times = isPeriodic_ && steps > 0
                     ? double(stepsOfAll_ - stepsOfMore_) / double(steps)
                     : double(all_ - more_) / double(more_ - fewer_);
  return ofMore + int64_t(some * times);
}

} // namespace divisi
