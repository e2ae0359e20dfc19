//===- PipelineSearch.h - Orders found by list scheduling -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders for costs that are not equal, and within memory: a stage that is free
// begins the step that its policy prefers, of those whose operands are there,
// and no forward step that memory cannot hold. Of the orders of several
// policies and those known by name, the one of least simulated time is changed
// further, two neighbours at a time.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_STAGES_PIPELINESEARCH_H
#define DIVISI_STAGES_PIPELINESEARCH_H

#include "divisi/Stages/PipelineTimes.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace divisi {

/// The name of an order that no paper has.
inline constexpr const char *kFoundSchedule = "found";

/// What a list scheduler prefers.
struct ListPolicy {
  /// Forward steps before backward ones, where both are ready.
  bool forwardFirst = false;
  /// Of forward steps, those of later chunks first.
  bool deepFirst = true;
  /// Gradients of weights only where nothing else is ready, or memory is full;
  /// otherwise each directly after that of the input, which is one step then.
  bool splits = true;
  /// Of a stage's memory, what micro-batches may take, from 0 to 1.
  double fill = 1;
};

/// The order by `policy`, of chunks on stages `stageOf`; a stage keeps at most
/// `memory` bytes. Nothing if that holds no micro-batch of all its chunks.
std::optional<PipelineSchedule>
listSchedule(const std::vector<size_t> &stageOf, size_t microBatches,
             const std::vector<ChunkCost> &costs,
             const std::vector<int64_t> &memory, const ListPolicy &policy);

/// A schedule and what it takes.
struct FoundSchedule {
  PipelineSchedule schedule; ///< It is right.
  PipelineTimes times;       ///< Of it, simulated.
};

/// How much to search.
struct PipelineSearchOptions {
  bool splits = true; ///< Whether backward steps may be split.
  size_t work = 2000; ///< Orders that are simulated, at most.
};

/// The fastest order found of training: see the file's head. Of those that take
/// the same time, the one that keeps least. Nothing if no order fits `memory`,
/// per stage, in bytes. The same arguments give the same order.
std::optional<FoundSchedule>
searchSchedule(const std::vector<size_t> &stageOf, size_t microBatches,
               const std::vector<ChunkCost> &costs,
               const std::vector<int64_t> &memory,
               const PipelineSearchOptions &options = {});

/// No order takes less: a stage begins when the first micro-batch can have come
/// to it, and ends its work after that; when its last gradient of an input is
/// made, that has still to go back to the first chunk. Nor less than the way of
/// one micro-batch. In nanoseconds.
int64_t pipelineBound(const std::vector<size_t> &stageOf, size_t microBatches,
                      const std::vector<ChunkCost> &costs);

} // namespace divisi

#endif // DIVISI_STAGES_PIPELINESEARCH_H
