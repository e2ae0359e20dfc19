//===- PipelineSchedule.h - Orders of micro-batches -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule of a pipeline as data: a model is cut into chunks, a stage (a
// group of devices) owns some of them, and each stage has an order of steps. A
// step is one phase of one micro-batch on one chunk:
//
//   stage 0   F0 F1 -- B0 F2 B1 ...         1F1B, two stages
//   stage 1   -- F0 B0 F1 B1 F2 ...
//
// A backward step may be split into the gradient of the input, which the stage
// before waits for, and the gradients of the weights, which nobody waits for.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_STAGES_PIPELINESCHEDULE_H
#define DIVISI_STAGES_PIPELINESCHEDULE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divisi {

/// What a step does with a micro-batch.
enum class Phase : uint8_t {
  Forward,
  Backward,      ///< Both gradients at once.
  InputGradient, ///< Of what the chunk was given.
  WeightGradient,
};

/// One phase of one micro-batch on one chunk.
struct PipelineStep {
  size_t chunk = 0;             ///< From 0, in the order of the model.
  size_t microBatch = 0;        ///< From 0.
  Phase phase = Phase::Forward; ///< What is done.

  bool operator==(const PipelineStep &) const = default;
};

/// `F3`, `B3`, `I3`, `W3`, with the chunk before it if `withChunk`: `2.F3`.
std::string toString(const PipelineStep &step, bool withChunk);
/// What toString() writes of a step with its chunk; nothing if it is not that.
std::optional<PipelineStep> parseStep(std::string_view text);

/// Which steps each stage runs, and in which order.
struct PipelineSchedule {
  std::string name;            ///< As `--schedule` takes it.
  size_t numMicroBatches = 0;  ///< Of one training step or one request.
  std::vector<size_t> stageOf; ///< Per chunk.
  /// Per stage, what it runs.
  std::vector<std::vector<PipelineStep>> order;

  /// Stages that there are.
  size_t numStages() const { return order.size(); }
  /// Chunks that there are.
  size_t numChunks() const { return stageOf.size(); }
};

/// What is wrong with `schedule`, or nothing: a stage of a chunk that there is
/// not; a step that is missing, doubled or on another stage; a backward step
/// both whole and split; steps that wait for each other in a cycle, which are
/// named. A schedule without any backward step is one of inference.
std::optional<std::string> validate(const PipelineSchedule &schedule);

/// The order of forward steps alone, for inference: `stream`.
PipelineSchedule makeStream(size_t stages, size_t microBatches);
/// All forward steps, then all backward steps (Huang et al., GPipe, 2019):
/// `gpipe`.
PipelineSchedule makeGPipe(size_t stages, size_t microBatches);
/// A stage holds as few micro-batches as keep the pipeline full, then runs one
/// forward and one backward step in turn (Narayanan et al., PipeDream, 2019;
/// Fan et al., DAPPLE, 2021): `1f1b`.
PipelineSchedule make1F1B(size_t stages, size_t microBatches);
/// 1F1B over `chunksPerStage` chunks a stage, which go round the stages
/// (Narayanan et al., Megatron-LM, 2021): `interleaved`. Micro-batches go in
/// groups of as many as there are stages; the first has what is over.
PipelineSchedule makeInterleaved(size_t stages, size_t chunksPerStage,
                                 size_t microBatches);
/// 1F1B whose gradients of weights wait, so that all stages hold as many
/// micro-batches as the first one does (Qi et al., Zero bubble, 2023, H1):
/// `zero-bubble-h1`.
PipelineSchedule makeZeroBubbleH1(size_t stages, size_t microBatches);
/// The same with nearly twice as many micro-batches, so that no stage is idle
/// once the first has come to the last (H2 there): `zero-bubble-h2`.
PipelineSchedule makeZeroBubbleH2(size_t stages, size_t microBatches);

/// The stages of chunks that go down and up again, `waves` times (Liu et al.,
/// Hanayo, 2023): 0 1 2 2 1 0 for three stages and one wave.
std::vector<size_t> waveStages(size_t stages, size_t waves);
/// The stages of chunks that go round, `chunksPerStage` times: 0 1 2 0 1 2.
std::vector<size_t> roundStages(size_t stages, size_t chunksPerStage);

} // namespace divisi

#endif // DIVISI_STAGES_PIPELINESCHEDULE_H
