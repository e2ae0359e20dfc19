//===- StepGraph.h - What the steps of a pipeline wait for ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a schedule, numbered stage after stage in their order, and what
// each waits for: the one before it on its stage; a forward step the same
// micro-batch on the chunk before; a backward step on the chunk behind, and the
// forward step of its own chunk; the gradients of weights that of the input.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_STAGES_STEPGRAPH_H
#define DIVISI_LIB_STAGES_STEPGRAPH_H

#include "divisi/Stages/PipelineSchedule.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace divisi {

/// See the file's head.
class StepGraph {
public:
  /// Of `schedule`, whose chunks have stages that there are. Nothing if its
  /// steps are not each micro-batch of each chunk once: `wrong` says which.
  static std::optional<StepGraph> of(const PipelineSchedule &schedule,
                                     std::string &wrong);

  /// Steps of all stages.
  size_t numSteps() const { return steps_.size(); }
  /// The step of that number.
  const PipelineStep &step(size_t index) const { return steps_[index]; }
  /// The step before it on its stage comes first, if there is one.
  std::span<const size_t> before(size_t index) const { return before_[index]; }
  /// Who waits for it.
  std::span<const size_t> after(size_t index) const { return after_[index]; }
  /// In an order in which they can run; fewer than all if some form a cycle.
  const std::vector<size_t> &order() const { return order_; }
  /// Whether all of them can run.
  bool isAcyclic() const { return order_.size() == steps_.size(); }
  /// Where the steps of `stage` begin; that of numStages() is numSteps().
  size_t begin(size_t stage) const { return begins_[stage]; }
  /// Of the step that makes the gradient of the input of `chunk` (whole or
  /// split), of the one that frees what is kept, and of the forward one.
  /// Nothing where a schedule has no backward steps.
  std::optional<size_t> find(size_t chunk, size_t microBatch,
                             Phase phase) const;

private:
  bool place(const PipelineSchedule &schedule, std::string &wrong);
  bool isComplete(const PipelineSchedule &schedule, std::string &wrong) const;
  void connect(const PipelineSchedule &schedule);
  void sort();
  size_t &slot(size_t chunk, size_t microBatch, Phase phase);

  static constexpr size_t kNone = size_t(-1);
  size_t numMicroBatches_ = 0;
  std::vector<PipelineStep> steps_;
  std::vector<size_t> begins_;
  std::vector<size_t> indexOf_; ///< By chunk, micro-batch and phase.
  std::vector<std::vector<size_t>> before_, after_;
  std::vector<size_t> order_;
};

} // namespace divisi

#endif // DIVISI_LIB_STAGES_STEPGRAPH_H
