//===- Pipeline.cpp - The Plan stage --------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Plan/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

/// Both ways into the stage come here.
static void buildPipeline(OpPassManager &manager, std::unique_ptr<Pass> plan) {
  // The planner knows one form of body only.
  manager.addPass(divisi::createIsolateBodies());
  // What is planned for one micro-batch is planned for all.
  manager.addPass(divisi::createFoldMicroBatches());
  manager.addPass(std::move(plan));
  // Whoever planned, a person or a solver: what follows relies on it.
  manager.addPass(divisi::createVerifyPlan());
}

void divisi::buildPlanPipeline(OpPassManager &manager,
                               const PlanOptions &options) {
  buildPipeline(manager, createNNPlan(options));
}

void divisi::registerPlanPipeline() {
  registerPassPipeline(
      "divisi-plan",
      "From clean nn to an annotated program; options as of nn-plan",
      [](OpPassManager &manager, StringRef options,
         function_ref<LogicalResult(const Twine &)> onError) {
        std::unique_ptr<Pass> plan = createNNPlan();
        if (failed(plan->initializeOptions(options, onError))) {
          return failure();
        }
        buildPipeline(manager, std::move(plan));
        return success();
      },
      [](auto) {});
}
