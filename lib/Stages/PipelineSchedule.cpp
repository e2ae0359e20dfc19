//===- PipelineSchedule.cpp - Orders of micro-batches ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/PipelineSchedule.h"

#include "StepGraph.h"

#include <algorithm>
#include <cassert>
#include <charconv>

using namespace divisi;

/// The letter of each phase.
static constexpr std::string_view kPhases = "FBIW";

std::string divisi::toString(const PipelineStep &step, bool withChunk) {
  std::string text = withChunk ? std::to_string(step.chunk) + "." : "";
  text += kPhases[size_t(step.phase)];
  return text + std::to_string(step.microBatch);
}

std::optional<PipelineStep> divisi::parseStep(std::string_view text) {
  PipelineStep step;
  const char *end = text.data() + text.size();
  auto chunk = std::from_chars(text.data(), end, step.chunk);
  // A dot, a letter, and a number to the end.
  if (chunk.ec != std::errc() || end - chunk.ptr < 3 || *chunk.ptr != '.') {
    return std::nullopt;
  }
  size_t phase = kPhases.find(chunk.ptr[1]);
  auto micro = std::from_chars(chunk.ptr + 2, end, step.microBatch);
  if (phase == kPhases.npos || micro.ec != std::errc() || micro.ptr != end) {
    return std::nullopt;
  }
  step.phase = Phase(phase);
  return step;
}

/// Steps that wait for each other, each for the next: `schedule` has some.
static std::string findCycle(const PipelineSchedule &schedule,
                             const StepGraph &graph) {
  std::vector<bool> runs(graph.numSteps());
  for (size_t step : graph.order()) {
    runs[step] = true;
  }
  auto waits = [&](size_t step) { return !runs[step]; };
  size_t at = 0;
  while (!waits(at)) {
    ++at;
  }
  std::vector<size_t> path; // each waits for the next
  while (std::ranges::find(path, at) == path.end()) {
    path.push_back(at);
    at = *std::ranges::find_if(graph.before(at), waits);
  }
  std::string text;
  for (auto it = std::ranges::find(path, at); it != path.end(); ++it) {
    text += toString(graph.step(*it), true) + " of stage " +
            std::to_string(schedule.stageOf[graph.step(*it).chunk]) +
            " waits for ";
  }
  return text + toString(graph.step(at), true);
}

std::optional<std::string> divisi::validate(const PipelineSchedule &schedule) {
  size_t stages = schedule.numStages();
  for (size_t chunk = 0; chunk < schedule.numChunks(); ++chunk) {
    if (schedule.stageOf[chunk] >= stages) {
      return "chunk " + std::to_string(chunk) + " is on stage " +
             std::to_string(schedule.stageOf[chunk]) + " of " +
             std::to_string(stages);
    }
  }
  std::string wrong;
  std::optional<StepGraph> graph = StepGraph::of(schedule, wrong);
  if (!graph) {
    return wrong;
  }
  if (!graph->isAcyclic()) {
    return "steps wait for each other: " + findCycle(schedule, *graph);
  }
  return std::nullopt;
}

std::vector<size_t> divisi::waveStages(size_t stages, size_t waves) {
  std::vector<size_t> stageOf;
  for (size_t chunk = 0; chunk < 2 * waves * stages; ++chunk) {
    size_t at = chunk % stages;
    bool isDown = chunk / stages % 2 == 0;
    stageOf.push_back(isDown ? at : stages - 1 - at);
  }
  return stageOf;
}

std::vector<size_t> divisi::roundStages(size_t stages, size_t chunksPerStage) {
  std::vector<size_t> stageOf;
  for (size_t chunk = 0; chunk < chunksPerStage * stages; ++chunk) {
    stageOf.push_back(chunk % stages);
  }
  return stageOf;
}

/// Of a chunk a stage, nothing in order yet.
static PipelineSchedule emptySchedule(std::string name, size_t stages,
                                      size_t microBatches) {
  assert(stages > 0 && microBatches > 0);
  PipelineSchedule schedule{
      std::move(name), microBatches, roundStages(stages, 1), {}};
  schedule.order.resize(stages);
  return schedule;
}

PipelineSchedule divisi::makeStream(size_t stages, size_t microBatches) {
  PipelineSchedule schedule = emptySchedule("stream", stages, microBatches);
  for (size_t stage = 0; stage < stages; ++stage) {
    for (size_t micro = 0; micro < microBatches; ++micro) {
      schedule.order[stage].push_back({stage, micro, Phase::Forward});
    }
  }
  return schedule;
}

PipelineSchedule divisi::makeGPipe(size_t stages, size_t microBatches) {
  PipelineSchedule schedule = makeStream(stages, microBatches);
  schedule.name = "gpipe";
  for (size_t stage = 0; stage < stages; ++stage) {
    for (size_t micro = 0; micro < microBatches; ++micro) {
      schedule.order[stage].push_back({stage, micro, Phase::Backward});
    }
  }
  return schedule;
}

/// Forward and backward steps of one stage, one and one in turn after `warmup`
/// forward steps. `forward` and `backward` are their orders.
static std::vector<PipelineStep>
inTurn(const std::vector<PipelineStep> &forward,
       const std::vector<PipelineStep> &backward, size_t warmup) {
  std::vector<PipelineStep> order;
  size_t begun = 0;
  for (const PipelineStep &step : backward) {
    for (; begun < forward.size() && begun <= warmup; ++begun) {
      order.push_back(forward[begun]);
    }
    order.push_back(step);
    ++warmup;
  }
  return order;
}

PipelineSchedule divisi::make1F1B(size_t stages, size_t microBatches) {
  PipelineSchedule schedule = makeInterleaved(stages, 1, microBatches);
  schedule.name = "1f1b";
  return schedule;
}

PipelineSchedule divisi::makeInterleaved(size_t stages, size_t chunksPerStage,
                                         size_t microBatches) {
  PipelineSchedule schedule =
      emptySchedule("interleaved", stages, microBatches);
  schedule.stageOf = roundStages(stages, chunksPerStage);
  size_t chunks = chunksPerStage;
  // The first group has what is over.
  size_t rest = microBatches % stages;
  size_t largest = microBatches < stages ? microBatches : stages + rest;
  for (size_t stage = 0; stage < stages; ++stage) {
    std::vector<PipelineStep> forward, backward;
    for (size_t first = 0, end; first < microBatches; first = end) {
      end = first + (first == 0 ? largest : stages);
      for (size_t turn = 0; turn < chunks; ++turn) {
        for (size_t micro = first; micro < end; ++micro) {
          forward.push_back({turn * stages + stage, micro, Phase::Forward});
          backward.push_back(
              {(chunks - 1 - turn) * stages + stage, micro, Phase::Backward});
        }
      }
    }
    // With one chunk: what fills the stages behind. With several, twice that,
    // as a micro-batch comes back from the last stage to the first.
    size_t behind = stages - 1 - stage;
    size_t warmup = chunks == 1 ? behind : 2 * behind + (chunks - 1) * largest;
    schedule.order[stage] = inTurn(forward, backward, warmup);
  }
  return schedule;
}

/// Splits the backward steps of a schedule of one chunk a stage, which begins
/// with `warmup(stage)` forward steps; `delay(stage)` micro-batches have the
/// gradient of their weights to come.
template <typename Warmup, typename Delay>
static PipelineSchedule makeZeroBubble(std::string name, size_t stages,
                                       size_t microBatches, Warmup warmup,
                                       Delay delay) {
  PipelineSchedule schedule =
      emptySchedule(std::move(name), stages, microBatches);
  for (size_t stage = 0; stage < stages; ++stage) {
    std::vector<PipelineStep> forward, backward;
    for (size_t micro = 0; micro < microBatches; ++micro) {
      forward.push_back({stage, micro, Phase::Forward});
      backward.push_back({stage, micro, Phase::InputGradient});
    }
    size_t weights = 0;
    auto &order = schedule.order[stage];
    for (const PipelineStep &step : inTurn(forward, backward, warmup(stage))) {
      order.push_back(step);
      if (step.phase == Phase::InputGradient &&
          step.microBatch >= delay(stage)) {
        order.push_back({stage, weights++, Phase::WeightGradient});
      }
    }
    while (weights < microBatches) {
      order.push_back({stage, weights++, Phase::WeightGradient});
    }
  }
  return schedule;
}

PipelineSchedule divisi::makeZeroBubbleH1(size_t stages, size_t microBatches) {
  return makeZeroBubble(
      "zero-bubble-h1", stages, microBatches,
      [=](size_t stage) { return stages - 1 - stage; },
      [](size_t stage) { return stage; });
}

PipelineSchedule divisi::makeZeroBubbleH2(size_t stages, size_t microBatches) {
  return makeZeroBubble(
      "zero-bubble-h2", stages, microBatches,
      [=](size_t stage) { return 2 * (stages - 1 - stage); },
      [](size_t stage) { return 2 * stage; });
}
