//===- StageSizes.cpp - How many devices stages have at best --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageSizes.h"

#include "StageCut.h"
#include "StageGrids.h"
#include "divisi/Cost/ModuleCluster.h"

using namespace mlir;

namespace divisi::plan {

Expected<std::vector<int64_t>>
bestStageDevices(ModuleOp module, const PipelineRequest &request,
                 ArrayRef<SizedPlan> plans, int64_t devices,
                 ArrayRef<int64_t> sizes,
                 const std::optional<StageNumbers> &numbers) {
  Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    return cluster.status();
  }
  SizedPlans known(module, plans);
  StageKinds kinds;
  kinds.isSized = true;
  kinds.memoryLimit = request.memoryLimit;
  if (numbers) {
    kinds.leastChunks = numbers->least;
    kinds.leftOut = numbers->leftOut;
  }
  for (DeviceRun run : runsOf(*cluster)) {
    run.length = std::min(run.length, devices);
    devices -= run.length;
    for (int64_t size : sizes) {
      if (size <= run.length) {
        size_t plan = known.planFor(size);
        kinds.kinds.push_back({.plan = plan,
                               .pool = kinds.pools.size(),
                               .begin = run.begin,
                               .devices = size,
                               .isBound = !known.hasPlanFor(size)});
      }
    }
    kinds.pools.push_back(run.length);
  }
  StageCut cut(*cluster, known, request.stages, kinds);
  if (Status status = cut.run(module); !status.isOk()) {
    return status;
  }
  std::vector<int64_t> best;
  for (size_t kind : cut.kindOfChunk()) {
    best.push_back(kinds.kinds[kind].devices);
  }
  return best;
}

} // namespace divisi::plan
