//===- StageSizes.h - How many devices stages have at best ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_STAGESIZES_H
#define DIVISI_LIB_PLAN_STAGESIZES_H

#include "divisi/Plan/PlaceStages.h"

namespace divisi::plan {

/// Numbers of stages that are searched.
struct StageNumbers {
  int64_t least = 2;           ///< At least.
  std::vector<size_t> leftOut; ///< Which are not looked at.
};

/// How many devices the stages that `request` asks for have at best, each one
/// of `sizes`, of `devices` together. Sizes that `plans` lack, of which there
/// is at least one, count as if devices shared all operators evenly and sent
/// nothing: if such sizes are not among the best, their plans are not needed.
/// `module` is the program, and stays as it is. With `numbers` there may be
/// fewer stages than `request` says: as many as are best; the answer is empty
/// if all are left out. Fails as placeStages.
Expected<std::vector<int64_t>>
bestStageDevices(mlir::ModuleOp module, const PipelineRequest &request,
                 llvm::ArrayRef<SizedPlan> plans, int64_t devices,
                 llvm::ArrayRef<int64_t> sizes,
                 const std::optional<StageNumbers> &numbers = {});

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_STAGESIZES_H
