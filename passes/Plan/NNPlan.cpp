//===- NNPlan.cpp - Choose a strategy for everything ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %y = nn.matmul %x, %w {labels = "mk,kn->mn"}
//   =>   spmd.grid @g (x0 = 2)
//        %y = nn.matmul %x, %w {…, spmd.split = #spmd.split<@g: n@x0>}
//
//===----------------------------------------------------------------------===//

#include "passes/Plan/Passes.h"

namespace divisi {
#define GEN_PASS_DEF_NNPLAN
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;

/// Pass options cannot be absent: -1 stands for that.
static std::optional<int64_t> given(int64_t value) {
  return value == -1 ? std::nullopt : std::optional(value);
}

namespace {
/// See Passes.td.
class NNPlanPass : public divisi::impl::NNPlanBase<NNPlanPass> {
public:
  using NNPlanBase::NNPlanBase;

  void runOnOperation() override {
    PlanOptions plan;
    plan.cluster = cluster;
    plan.grid.devices = given(devices);
    plan.grid.mesh = mesh;
    plan.grid.dataParallel = given(dataParallel);
    plan.grid.tensorParallel = given(tensorParallel);
    plan.batchDim = batchDim;
    plan.memoryLimit = given(memoryLimit);
    plan.solver = solver;
    plan.seed = seed;
    Expected<PlanReport> result = planModule(getOperation(), plan);
    if (!result) {
      mlir::emitError(getOperation().getLoc()) << result.status().message();
      return signalPassFailure();
    }
    numNodes += unsigned(result->nodes);
    numEdges += unsigned(result->edges);
    if (report) {
      mlir::emitRemark(getOperation().getLoc())
          << "predicted " << result->nanoseconds << " ns, peak "
          << result->peakBytes << " bytes; of " << result->parameterBytes
          << " bytes of globals " << result->residentBytes
          << " rest on a device";
    }
  }
};
} // namespace
