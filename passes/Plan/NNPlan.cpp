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

#include "passes/ModuleNotes.h"
#include "passes/Plan/Passes.h"
#include "passes/StatusDiagnostic.h"

#include "llvm/ADT/StringExtras.h"

namespace divisi {
#define GEN_PASS_DEF_NNPLAN
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;

namespace {
/// See Passes.td.
class NNPlanPass : public divisi::impl::NNPlanBase<NNPlanPass> {
public:
  using NNPlanBase::NNPlanBase;
  explicit NNPlanPass(const PlanOptions &options);

  void runOnOperation() override;

private:
  PlanOptions planOptions() const;

  // Not written as text, unlike the options.
  MeasureMemory measure_;
  SimulatePlan simulate_;
  std::string host_;
  PlanControl control_;
};
} // namespace

// A field that is new in PlanOptions breaks both of the following: they name
// all of them.

NNPlanPass::NNPlanPass(const PlanOptions &options) {
  const auto &[cluster_, grid, stages, stageDevices_, searches, branches,
               chunks, schedule_, batchDim_, memoryLimit_, zero_, recompute_,
               judge_, solver_, seed_, work_, gap_, maxStrategies_, measure,
               simulate, globals, host, share, control] = options;
  const auto &[devices_, mesh_, dataParallel_, tensorParallel_, maxAxes_] =
      grid;
  cluster = cluster_;
  devices = devices_;
  mesh = mesh_;
  dataParallel = dataParallel_;
  tensorParallel = tensorParallel_;
  maxAxes = maxAxes_;
  pipelineStages = stages;
  stageDevices = stageDevices_;
  searchesStageDevices = searches;
  dividesBranches = branches;
  chunksPerStage = chunks;
  schedule = schedule_;
  batchDim = batchDim_;
  memoryLimit = memoryLimit_;
  zero = zero_;
  recompute = recompute_;
  judge = judge_;
  solver = solver_;
  seed = seed_;
  work = work_;
  gap = gap_;
  maxStrategies = maxStrategies_;
  measure_ = measure;
  simulate_ = simulate;
  host_ = host;
  control_ = control;
}

PlanOptions NNPlanPass::planOptions() const {
  PlanOptions options;
  auto &[cluster_, grid, stages, stageDevices_, searches, branches, chunks,
         schedule_, batchDim_, memoryLimit_, zero_, recompute_, judge_, solver_,
         seed_, work_, gap_, maxStrategies_, measure, simulate, globals, host,
         share, control] = options;
  auto &[devices_, mesh_, dataParallel_, tensorParallel_, maxAxes_] = grid;
  cluster_ = cluster;
  devices_ = devices;
  mesh_ = mesh;
  dataParallel_ = dataParallel;
  tensorParallel_ = tensorParallel;
  maxAxes_ = maxAxes;
  stages = pipelineStages;
  stageDevices_ = {stageDevices.begin(), stageDevices.end()};
  searches = searchesStageDevices;
  branches = dividesBranches;
  chunks = chunksPerStage;
  schedule_ = schedule;
  batchDim_ = batchDim;
  memoryLimit_ = memoryLimit;
  zero_ = zero;
  recompute_ = recompute;
  judge_ = judge;
  solver_ = solver;
  seed_ = seed;
  work_ = work;
  gap_ = gap;
  maxStrategies_ = maxStrategies;
  measure = measure_;
  simulate = simulate_;
  host = host_;
  control = control_;
  return options;
}

/// `8 bytes`, or `8 bytes of a100, 2 bytes of v100`.
static std::string peakText(const PlanReport &report) {
  if (report.kindPeaks.empty()) {
    return std::to_string(report.peakBytes) + " bytes";
  }
  return llvm::join(llvm::map_range(report.kindPeaks,
                                    [](const KindPeak &peak) {
                                      return std::to_string(peak.bytes) +
                                             " bytes of " + peak.kind;
                                    }),
                    ", ");
}

void NNPlanPass::runOnOperation() {
  Expected<PlanReport> result = planModule(getOperation(), planOptions());
  if (!result) {
    emitStatus(getOperation().getLoc(), result.status());
    return signalPassFailure();
  }
  noteOnModule(getOperation(), kStageAttr, "plan");
  numNodes += unsigned(result->nodes);
  numEdges += unsigned(result->edges);
  if (report) {
    mlir::emitRemark(getOperation().getLoc())
        << "predicted " << result->nanoseconds << " ns, peak "
        << peakText(*result) << "; of " << result->parameterBytes
        << " bytes of globals " << result->residentBytes << " rest on a device";
  }
}

std::unique_ptr<Pass> divisi::createNNPlan(const PlanOptions &options) {
  return std::make_unique<NNPlanPass>(options);
}
