//===- PipelineTimes.cpp - What a schedule of a pipeline takes ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/PipelineTimes.h"

#include "StepGraph.h"

#include <algorithm>
#include <cassert>
#include <map>

using namespace divisi;

int64_t ChunkCost::nanoseconds(Phase phase) const {
  switch (phase) {
  case Phase::Forward:
    return forward;
  case Phase::Backward:
    return inputGradient + weightGradient;
  case Phase::InputGradient:
    return inputGradient;
  case Phase::WeightGradient:
    return weightGradient;
  }
  return 0;
}

double PipelineTimes::bubble() const {
  int64_t busy = 0;
  for (const StageUse &stage : stages) {
    busy += stage.busy;
  }
  double all = double(nanoseconds) * double(stages.size());
  return all > 0 ? 1 - double(busy) / all : 0;
}

namespace {

/// When each step of a graph begins and ends.
class Clock {
public:
  Clock(const PipelineSchedule &schedule, const StepGraph &graph,
        const std::vector<ChunkCost> &costs)
      : schedule_(schedule), graph_(graph), costs_(costs),
        ends_(graph.numSteps()), arrivals_(graph.numSteps()) {}

  PipelineTimes run();

private:
  int64_t beginOf(size_t index) const;
  int64_t arrivalOf(size_t index);
  void use(StageUse &stage, size_t begin, size_t end) const;

  const PipelineSchedule &schedule_;
  const StepGraph &graph_;
  const std::vector<ChunkCost> &costs_;
  std::vector<int64_t> ends_;
  std::vector<int64_t> arrivals_; ///< Where another stage waits for it.
  /// When each direction between two stages is free.
  std::map<std::pair<size_t, size_t>, int64_t> links_;
};

} // namespace

int64_t Clock::beginOf(size_t index) const {
  size_t stage = schedule_.stageOf[graph_.step(index).chunk];
  int64_t begin = 0;
  for (size_t earlier : graph_.before(index)) {
    bool isHere = schedule_.stageOf[graph_.step(earlier).chunk] == stage;
    begin = std::max(begin, isHere ? ends_[earlier] : arrivals_[earlier]);
  }
  return begin;
}

/// When its result is on the stage that waits for it.
int64_t Clock::arrivalOf(size_t index) {
  const auto &[chunk, micro, phase] = graph_.step(index);
  bool isForward = phase == Phase::Forward;
  bool isLast = isForward ? chunk + 1 == schedule_.numChunks() : chunk == 0;
  if (phase == Phase::WeightGradient || isLast) {
    return ends_[index];
  }
  size_t from = schedule_.stageOf[chunk];
  size_t to = schedule_.stageOf[isForward ? chunk + 1 : chunk - 1];
  if (from == to) {
    return ends_[index];
  }
  int64_t &link = links_[{from, to}];
  link = std::max(link, ends_[index]) +
         (isForward ? costs_[chunk].sends : costs_[chunk].sendsBack);
  return link;
}

/// What the steps [begin, end) of a stage take and keep.
void Clock::use(StageUse &stage, size_t begin, size_t end) const {
  int64_t bytes = 0;
  size_t held = 0;
  for (size_t index = begin; index < end; ++index) {
    const auto &[chunk, micro, phase] = graph_.step(index);
    int64_t time = costs_[chunk].nanoseconds(phase);
    stage.busy += time;
    stage.begins.push_back(ends_[index] - time);
    bool trains = graph_.find(chunk, micro, Phase::Backward) ||
                  graph_.find(chunk, micro, Phase::WeightGradient);
    if (phase == Phase::Forward) {
      bytes += costs_[chunk].kept;
      ++held;
      stage.peakBytes = std::max(stage.peakBytes, bytes);
      stage.peakMicroBatches = std::max(stage.peakMicroBatches, held);
    }
    if (phase == Phase::Backward || phase == Phase::WeightGradient || !trains) {
      bytes -= costs_[chunk].kept;
      --held;
    }
  }
}

PipelineTimes Clock::run() {
  for (size_t index : graph_.order()) {
    const PipelineStep &step = graph_.step(index);
    ends_[index] = beginOf(index) + costs_[step.chunk].nanoseconds(step.phase);
    arrivals_[index] = arrivalOf(index);
  }
  PipelineTimes times;
  for (int64_t end : ends_) {
    times.nanoseconds = std::max(times.nanoseconds, end);
  }
  times.stages.resize(schedule_.numStages());
  for (size_t stage = 0; stage < times.stages.size(); ++stage) {
    use(times.stages[stage], graph_.begin(stage), graph_.begin(stage + 1));
  }
  return times;
}

PipelineTimes divisi::simulate(const PipelineSchedule &schedule,
                               const std::vector<ChunkCost> &costs) {
  assert(costs.size() == schedule.numChunks());
  std::string wrong;
  std::optional<StepGraph> graph = StepGraph::of(schedule, wrong);
  assert(graph && graph->isAcyclic() && "schedules are validated before");
  return Clock(schedule, *graph, costs).run();
}
