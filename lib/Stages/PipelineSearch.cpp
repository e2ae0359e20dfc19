//===- PipelineSearch.cpp - The fastest order found -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/PipelineSearch.h"

#include <algorithm>
#include <cassert>
#include <utility>

using namespace divisi;

namespace {

/// Keeps the best order so far.
class ScheduleSearch {
public:
  ScheduleSearch(const std::vector<size_t> &stageOf, size_t microBatches,
                 const std::vector<ChunkCost> &costs,
                 const std::vector<int64_t> &memory,
                 const PipelineSearchOptions &options)
      : stageOf_(stageOf), microBatches_(microBatches), costs_(costs),
        memory_(memory), options_(options) {}

  std::optional<FoundSchedule> run();

private:
  void tryKnown();
  void tryLists();
  void swapNeighbours();
  bool consider(PipelineSchedule schedule);
  static int64_t mostKept(const PipelineTimes &times);

  const std::vector<size_t> &stageOf_;
  size_t microBatches_;
  const std::vector<ChunkCost> &costs_;
  const std::vector<int64_t> &memory_;
  PipelineSearchOptions options_;
  int64_t bound_ = 0;
  size_t work_ = 0;
  std::optional<FoundSchedule> best_;
};

} // namespace

int64_t ScheduleSearch::mostKept(const PipelineTimes &times) {
  int64_t bytes = 0;
  for (const StageUse &stage : times.stages) {
    bytes = std::max(bytes, stage.peakBytes);
  }
  return bytes;
}

/// Takes it if it fits and is better; whether it was.
bool ScheduleSearch::consider(PipelineSchedule schedule) {
  ++work_;
  PipelineTimes times = simulate(schedule, costs_);
  for (size_t stage = 0; stage < memory_.size(); ++stage) {
    if (times.stages[stage].peakBytes > memory_[stage]) {
      return false;
    }
  }
  if (best_ &&
      std::pair(times.nanoseconds, mostKept(times)) >=
          std::pair(best_->times.nanoseconds, mostKept(best_->times))) {
    return false;
  }
  best_ = {std::move(schedule), std::move(times)};
  return true;
}

/// The orders that have names, where chunks go round the stages.
void ScheduleSearch::tryKnown() {
  size_t stages = memory_.size(), perStage = stageOf_.size() / stages;
  if (stageOf_ != roundStages(stages, perStage)) {
    return;
  }
  if (perStage > 1) {
    consider(makeInterleaved(stages, perStage, microBatches_));
    return;
  }
  consider(make1F1B(stages, microBatches_));
  consider(makeGPipe(stages, microBatches_));
  if (options_.splits) {
    consider(makeZeroBubbleH1(stages, microBatches_));
    consider(makeZeroBubbleH2(stages, microBatches_));
  }
}

void ScheduleSearch::tryLists() {
  for (int choice = 0; choice < 8; ++choice) {
    for (double fill : {1.0, 0.75, 0.5, 0.25, 0.0}) {
      ListPolicy policy{(choice & 1) != 0, (choice & 2) == 0, (choice & 4) != 0,
                        fill};
      if (policy.splits && !options_.splits) {
        continue;
      }
      if (std::optional<PipelineSchedule> schedule =
              listSchedule(stageOf_, microBatches_, costs_, memory_, policy)) {
        consider(std::move(*schedule));
      }
    }
  }
}

/// As long as one swap helps, and the bound is not reached.
void ScheduleSearch::swapNeighbours() {
  bool better = true;
  while (better) {
    better = false;
    for (size_t stage = 0; stage < memory_.size(); ++stage) {
      size_t steps = best_->schedule.order[stage].size();
      for (size_t at = 0; at + 1 < steps; ++at) {
        if (work_ >= options_.work || best_->times.nanoseconds <= bound_) {
          return;
        }
        const auto &order = best_->schedule.order[stage];
        bool touches =
            best_->times.stages[stage].begins[at] +
                costs_[order[at].chunk].nanoseconds(order[at].phase) ==
            best_->times.stages[stage].begins[at + 1];
        if (!touches || order[at].phase == order[at + 1].phase) {
          continue;
        }
        PipelineSchedule changed = best_->schedule;
        changed.name = kFoundSchedule;
        std::swap(changed.order[stage][at], changed.order[stage][at + 1]);
        if (!validate(changed)) {
          better |= consider(std::move(changed));
        } else {
          ++work_;
        }
      }
    }
  }
}

std::optional<FoundSchedule> ScheduleSearch::run() {
  bound_ = pipelineBound(stageOf_, microBatches_, costs_);
  tryKnown();
  tryLists();
  if (best_) {
    swapNeighbours();
  }
  return std::move(best_);
}

std::optional<FoundSchedule>
divisi::searchSchedule(const std::vector<size_t> &stageOf, size_t microBatches,
                       const std::vector<ChunkCost> &costs,
                       const std::vector<int64_t> &memory,
                       const PipelineSearchOptions &options) {
  assert(costs.size() == stageOf.size());
  return ScheduleSearch(stageOf, microBatches, costs, memory, options).run();
}

int64_t divisi::pipelineBound(const std::vector<size_t> &stageOf,
                              size_t microBatches,
                              const std::vector<ChunkCost> &costs) {
  /// What one stage does, and what comes before and after it.
  struct Work {
    int64_t waited = 0, weights = 0, before = -1, after = 0;
  };
  std::vector<Work> work(*std::ranges::max_element(stageOf) + 1);
  int64_t way = 0, back = 0;
  for (size_t chunk = 0; chunk < costs.size(); ++chunk) {
    const ChunkCost &cost = costs[chunk];
    Work &own = work[stageOf[chunk]];
    if (own.before < 0) { // its first chunk
      own.before = way;
      own.after = back;
    }
    own.waited += int64_t(microBatches) * (cost.forward + cost.inputGradient);
    own.weights += int64_t(microBatches) * cost.weightGradient;
    bool crosses =
        chunk + 1 < costs.size() && stageOf[chunk + 1] != stageOf[chunk];
    way += cost.forward + (crosses ? cost.sends : 0);
    back += cost.inputGradient + (crosses ? costs[chunk + 1].sendsBack : 0);
  }
  int64_t bound = way + back;
  for (const Work &own : work) {
    bound = std::max(bound, std::max<int64_t>(own.before, 0) + own.waited +
                                std::max(own.weights, own.after));
  }
  return bound;
}
