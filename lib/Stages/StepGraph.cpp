//===- StepGraph.cpp - What the steps of a pipeline wait for --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepGraph.h"

using namespace divisi;

static constexpr size_t kPhases = 4;

size_t &StepGraph::slot(size_t chunk, size_t microBatch, Phase phase) {
  return indexOf_[(chunk * numMicroBatches_ + microBatch) * kPhases +
                  size_t(phase)];
}

std::optional<size_t> StepGraph::find(size_t chunk, size_t microBatch,
                                      Phase phase) const {
  size_t index = indexOf_[(chunk * numMicroBatches_ + microBatch) * kPhases +
                          size_t(phase)];
  return index == kNone ? std::nullopt : std::optional(index);
}

/// Numbers the steps; whether each is where it may be, and there once.
bool StepGraph::place(const PipelineSchedule &schedule, std::string &wrong) {
  for (size_t stage = 0; stage < schedule.numStages(); ++stage) {
    begins_.push_back(steps_.size());
    for (const PipelineStep &step : schedule.order[stage]) {
      if (step.chunk >= schedule.numChunks() ||
          step.microBatch >= numMicroBatches_ ||
          schedule.stageOf[step.chunk] != stage) {
        wrong = "stage " + std::to_string(stage) + " has no step " +
                toString(step, true);
        return false;
      }
      size_t &index = slot(step.chunk, step.microBatch, step.phase);
      if (index != kNone) {
        wrong = "stage " + std::to_string(stage) + " runs " +
                toString(step, true) + " twice";
        return false;
      }
      index = steps_.size();
      steps_.push_back(step);
    }
  }
  begins_.push_back(steps_.size());
  return true;
}

/// Whether each micro-batch of each chunk has its steps.
bool StepGraph::isComplete(const PipelineSchedule &schedule,
                           std::string &wrong) const {
  bool trains = false;
  for (const PipelineStep &step : steps_) {
    trains |= step.phase != Phase::Forward;
  }
  for (size_t chunk = 0; chunk < schedule.numChunks(); ++chunk) {
    for (size_t micro = 0; micro < numMicroBatches_; ++micro) {
      auto has = [&](Phase phase) {
        return find(chunk, micro, phase).has_value();
      };
      auto says = [&](const char *what) {
        wrong = "micro-batch " + std::to_string(micro) + " of chunk " +
                std::to_string(chunk) + what;
        return false;
      };
      bool whole = has(Phase::Backward);
      bool split = has(Phase::InputGradient) || has(Phase::WeightGradient);
      if (!has(Phase::Forward)) {
        return says(" has no forward step");
      }
      if (whole && split) {
        return says(" has a backward step both whole and split");
      }
      if (trains && !whole &&
          !(has(Phase::InputGradient) && has(Phase::WeightGradient))) {
        return says(" lacks a backward step");
      }
    }
  }
  return true;
}

void StepGraph::connect(const PipelineSchedule &schedule) {
  before_.resize(steps_.size());
  after_.resize(steps_.size());
  auto need = [&](size_t step, std::optional<size_t> earlier) {
    if (earlier) {
      before_[step].push_back(*earlier);
      after_[*earlier].push_back(step);
    }
  };
  for (size_t stage = 0; stage < schedule.numStages(); ++stage) {
    for (size_t index = begin(stage); index < begin(stage + 1); ++index) {
      const auto &[chunk, micro, phase] = steps_[index];
      if (index > begin(stage)) {
        need(index, index - 1);
      }
      if (phase == Phase::Forward) {
        if (chunk > 0) {
          need(index, find(chunk - 1, micro, phase));
        }
      } else if (phase == Phase::WeightGradient) {
        need(index, find(chunk, micro, Phase::InputGradient));
      } else {
        need(index, find(chunk, micro, Phase::Forward));
        if (chunk + 1 < schedule.numChunks()) {
          need(index, find(chunk + 1, micro, Phase::Backward));
          need(index, find(chunk + 1, micro, Phase::InputGradient));
        }
      }
    }
  }
}

/// In topological order (Kahn).
void StepGraph::sort() {
  std::vector<size_t> waiting;
  for (size_t index = 0; index < steps_.size(); ++index) {
    waiting.push_back(before_[index].size());
    if (waiting.back() == 0) {
      order_.push_back(index);
    }
  }
  for (size_t at = 0; at < order_.size(); ++at) {
    for (size_t next : after_[order_[at]]) {
      if (--waiting[next] == 0) {
        order_.push_back(next);
      }
    }
  }
}

std::optional<StepGraph> StepGraph::of(const PipelineSchedule &schedule,
                                       std::string &wrong) {
  StepGraph graph;
  graph.numMicroBatches_ = schedule.numMicroBatches;
  graph.indexOf_.assign(
      schedule.numChunks() * schedule.numMicroBatches * kPhases, kNone);
  if (!graph.place(schedule, wrong) || !graph.isComplete(schedule, wrong)) {
    return std::nullopt;
  }
  graph.connect(schedule);
  graph.sort();
  return graph;
}
