//===- PipelineTimes.h - What a schedule of a pipeline takes ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times and memory of a schedule whose steps take what they take alone: a stage
// runs its steps in order, each as soon as what it waits for is there. What one
// stage sends another travels beside the steps of both, one transfer after the
// other in each direction.
//
//   stage 0   |F0|F1|          |B0|B1|
//   link        \~~\ \~~\      /~~/
//   stage 1         |F0|F1|B0|B1|
//
// With costs that are all equal and links that take nothing, the times are the
// closed forms of the papers of each schedule (test/Stages).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_STAGES_PIPELINETIMES_H
#define DIVISI_STAGES_PIPELINETIMES_H

#include "divisi/Stages/PipelineSchedule.h"

#include <cstdint>
#include <vector>

namespace divisi {

/// Of one micro-batch on one chunk.
struct ChunkCost {
  int64_t forward = 0;        ///< In nanoseconds, as all that follow.
  int64_t inputGradient = 0;  ///< Alone; a whole backward step takes both.
  int64_t weightGradient = 0; ///< Alone.
  int64_t sends = 0;     ///< To the chunk behind, if that is on another stage.
  int64_t sendsBack = 0; ///< Its gradient, to the chunk before.
  /// Bytes from the begin of the forward step to the end of the last backward
  /// step.
  int64_t kept = 0;

  /// What a step of `phase` takes, in nanoseconds.
  int64_t nanoseconds(Phase phase) const;
};

/// What one stage does.
struct StageUse {
  int64_t busy = 0;            ///< In nanoseconds.
  int64_t peakBytes = 0;       ///< The most that is kept at once.
  size_t peakMicroBatches = 0; ///< The most that are begun and not freed, per
                               ///< chunk.
  std::vector<int64_t> begins; ///< Of its steps, in their order.
};

/// What a schedule takes.
struct PipelineTimes {
  int64_t nanoseconds = 0;      ///< Until the last step ends.
  std::vector<StageUse> stages; ///< What each does.

  /// The share of all stages' time in which they are idle, from 0 to 1.
  double bubble() const;
};

/// Of `schedule`, which validate() has found right, with a cost per chunk. What
/// a step sends is on its way from its end on.
PipelineTimes simulate(const PipelineSchedule &schedule,
                       const std::vector<ChunkCost> &costs);

} // namespace divisi

#endif // DIVISI_STAGES_PIPELINETIMES_H
