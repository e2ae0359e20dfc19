//===- StagePlanner.h - Layers and devices of stages ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a model of layers into stages and gives each a sub-grid of the cluster:
// the dynamic program of Alpa (Zheng et al., 2022) over the layers, the devices
// that are left and the position in the pipeline, for stages uneven in both and
// for clusters of several kinds of devices. What a stage costs on a sub-grid
// its caller says (the planner of operators does), replicas and shards in it.
//
//   layers    0 1 2 3 4 5 6 7        t(s)   a stage for one micro-batch
//   stages    |--- 0 ---|- 1 -|      u(s) = (m - 1) max(t(s), its transfers)
//   devices   4 fast     4 slow             + what a step takes once
//
//   a step of m micro-batches takes  sum of t + transfers  +  max of u
//
// The answer is the least of this over all cuts and sub-grids: for each most u,
// the dynamic program finds the least sum; between two of them with equal sums
// nothing is better, so that few of them are tried.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_STAGES_STAGEPLANNER_H
#define DIVISI_STAGES_STAGEPLANNER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace divisi {

/// Devices that a stage may have.
struct SubGrid {
  size_t kind = 0;    ///< Of the devices.
  size_t devices = 1; ///< At least 1.
};

/// What layers cost as a stage on a sub-grid.
struct StageCost {
  int64_t nanoseconds = 0; ///< Of one micro-batch, all its phases.
  int64_t sends = 0;       ///< To the stage behind, of one micro-batch.
  int64_t sendsBack = 0;   ///< To the stage before.
  int64_t once = 0;        ///< Per step: sums of gradients, the optimizer.
  int64_t bytes = 0;       ///< On the fullest device, without micro-batches.
  int64_t bytesKept = 0;   ///< There for each micro-batch that is begun.
};

/// What is wanted least.
enum class StageObjective {
  Step,       ///< The time of a step of all micro-batches.
  Latency,    ///< The time of one micro-batch.
  Throughput, ///< The time from one micro-batch to the next.
};

/// What is to be cut into stages.
struct StageProblem {
  size_t layers = 0;                   ///< Of the model, in order.
  std::vector<size_t> devices;         ///< Per kind, how many there are.
  std::vector<int64_t> memory;         ///< Per kind, bytes of a device.
  std::vector<SubGrid> subGrids;       ///< That stages may have.
  size_t microBatches = 1;             ///< Of one step.
  size_t minStages = 1, maxStages = 1; ///< How many there may be.
  std::vector<size_t> leftOut;         ///< Of these, how many there may not be.
  /// Per position, how many devices its stage has; empty: whatever is best.
  /// Then as many stages are made as are said.
  std::vector<size_t> sizes;
  /// What is wanted least.
  StageObjective objective = StageObjective::Step;
  /// How many micro-batches the stage at `position` of `stages` keeps at once.
  std::function<size_t(size_t position, size_t stages)> inFlight;
  /// Of layers [begin, end) on a sub-grid; nothing if they cannot run there.
  /// Asked once for each.
  std::function<std::optional<StageCost>(size_t begin, size_t end,
                                         const SubGrid &)>
      cost;
};

/// Layers [begin, end) on a sub-grid.
struct Stage {
  size_t begin = 0, end = 0; ///< Layers.
  SubGrid subGrid;           ///< Its devices.
};

/// The best cut.
struct StagePlan {
  std::vector<Stage> stages; ///< In the order of the layers.
  /// What the objective says of it: see the file's head.
  int64_t nanoseconds = 0;
};

/// The micro-batches that 1F1B keeps: as many as stages follow, itself counted.
size_t inFlightOf1F1B(size_t position, size_t stages, size_t microBatches);

/// The best plan of all, or nothing if none fits the devices and their memory.
/// Equal ones: that of fewer stages.
std::optional<StagePlan> planStages(const StageProblem &problem);

} // namespace divisi

#endif // DIVISI_STAGES_STAGEPLANNER_H
