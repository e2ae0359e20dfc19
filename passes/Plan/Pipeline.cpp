//===- Pipeline.cpp - The Plan stage --------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Plan/Passes.h"

#include "mlir/Pass/PassManager.h"

void divisi::buildPlanPipeline(mlir::OpPassManager &manager,
                               const PlanOptions &options) {
  NNPlanOptions pass;
  pass.cluster = options.cluster;
  pass.devices = options.grid.devices.value_or(-1);
  pass.mesh = options.grid.mesh;
  pass.dataParallel = options.grid.dataParallel.value_or(-1);
  pass.tensorParallel = options.grid.tensorParallel.value_or(-1);
  pass.batchDim = options.batchDim;
  pass.memoryLimit = options.memoryLimit.value_or(-1);
  pass.solver = options.solver;
  pass.seed = options.seed;
  manager.addPass(createNNPlan(pass));
  // Whoever planned, a person or a solver: what follows relies on it.
  manager.addPass(createVerifyPlan());
}
