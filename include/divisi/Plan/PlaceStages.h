//===- PlaceStages.h - Stages of a pipeline on sub-grids --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan on the grid of one stage becomes one on a grid for each stage:
//
//   spmd.grid @g (x = 2)               spmd.grid @g0 (x = 2) devices [0, 1]
//                                      spmd.grid @g1 (x = 2) devices [2, 3]
//   %h = nn.matmul … @g: n@x    ->     %h = nn.matmul … @g0: n@x
//   %y = nn.matmul … @g: k@x           %y = nn.matmul … @g1: k@x
//
// Each stage has devices of one kind. Stages of one size have sub-grids of one
// shape; those of unequal sizes have the strategies of one plan for each size.
// Operators of one node of the model, with all that training derives from them
// and for all micro-batches, are on one stage; nodes are cut in the order of
// the program such that the slowest stage is as fast as it can be: one of slow
// or few devices gets fewer (Stages/StagePlanner.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_PLACESTAGES_H
#define DIVISI_PLAN_PLACESTAGES_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// What is asked of a pipeline.
struct PipelineRequest {
  /// How many stages; 1: no pipeline.
  int64_t stages = 1;
  /// Per stage, how many devices it has; empty: an equal part.
  std::vector<int64_t> stageDevices;
  /// Chunks of the model that a stage has; 0: as many as the schedule needs.
  int64_t chunksPerStage = 0;
  /// One of pipelineScheduleNames().
  std::string schedule = "auto";
  /// Bytes per device; without, what a device of the cluster has.
  std::optional<int64_t> memoryLimit;

  /// `chunksPerStage`, or what the schedule needs: 1 or 2.
  int64_t numChunksPerStage() const;
};

/// `2,1`: PipelineRequest::stageDevices as users say them.
std::string stageDevicesText(llvm::ArrayRef<int64_t> sizes);

/// A plan for stages of one size.
struct SizedPlan {
  int64_t devices = 0;   ///< That such a stage has, of which it may use fewer.
  mlir::ModuleOp module; ///< A copy of the program, with that plan.
};

/// What PipelineRequest::schedule may be: `auto`, the fastest found; `wave`,
/// the same of chunks that go down and up the stages; `stream` of inference,
/// and those of Stages/PipelineSchedule.h.
llvm::ArrayRef<llvm::StringLiteral> pipelineScheduleNames();

/// ExitCode::Usage if `request` contradicts itself.
Status checkPipeline(const PipelineRequest &request);

/// Places what the plan in `module` has on its one grid on as many of that size
/// as `request` has stages, says which step operators belong to, and gives
/// entries the order of a schedule (dialects/Pipe). Fails with Usage where the
/// cluster has fewer devices, the program fewer nodes than chunks, or no steps
/// for the schedule. Of stages that `request` gives unequal numbers of devices,
/// `plans` has those of each.
Status placeStages(mlir::ModuleOp module, const PipelineRequest &request,
                   llvm::ArrayRef<SizedPlan> plans = {});

} // namespace divisi

#endif // DIVISI_PLAN_PLACESTAGES_H
