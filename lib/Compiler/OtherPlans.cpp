//===- OtherPlans.cpp - Other plans of one model --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "dialects/SPMD/SPMD.h"
#include "divisi/Cost/TrialRecord.h"
#include "divisi/Plan/DropPlan.h"
#include "passes/ModuleNotes.h"

using namespace mlir;
using namespace divisi;

Status Compilation::replan(llvm::ArrayRef<std::string> keep) {
  if (stage_ > Stage::Plan) {
    return Status(ExitCode::Usage, "the stage partition has consumed the "
                                   "strategies, so they cannot be dropped");
  }
  Expected<int64_t> devices = dropPlan(*module_, keep);
  if (!devices) {
    return devices.status();
  }
  stage_ = Stage::Import;
  setTrialRecords(*module_, {});
  noteOnModule(*module_, kStageAttr, stringifyStage(stage_));
  PlanOptions &plan = options_.plan;
  bool isOpen =
      plan.cluster.empty() && !plan.grid.devices && plan.grid.mesh.empty();
  // What is kept is on a grid, which is that of the plan then.
  for (auto grid : module_->getOps<spmd::GridOp>()) {
    devices = grid.getValue().numPositions();
  }
  if (isOpen && *devices > 0) {
    plan.grid.devices = *devices;
  }
  return Status();
}

/// What `@init` computes is not shared: one of the two may be rewritten.
std::unique_ptr<Compilation> Compilation::copy() {
  meter(); // one for all copies
  auto other = std::make_unique<Compilation>(
      options_, cast<ModuleOp>((*module_)->clone()), stage_, store_);
  other->options_.emit.derived.reset();
  other->context_ = context_;
  other->meter_ = meter_;
  other->isModel_ = isModel_;
  other->isTrained_ = isTrained_;
  other->isImported_ = isImported_;
  other->hasForeignCode_ = hasForeignCode_;
  other->inputName_ = inputName_;
  other->modelPath_ = modelPath_;
  other->report_ = report_;
  return other;
}

std::unique_ptr<Compilation> Compilation::fork(const PlanOptions &plan) {
  if (!options_.emit.derived) {
    options_.emit.derived = std::make_shared<DerivedValues>();
  }
  std::unique_ptr<Compilation> other = copy();
  other->options_.emit.derived = options_.emit.derived;
  other->options_.plan = plan;
  other->options_.dumpAfter.clear();
  other->options_.report = false;
  other->report_.reset();
  return other;
}
