//===- Pipeline.cpp - The Schedule stage ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void divisi::buildSchedulePipeline(mlir::OpPassManager &manager) {
  // Collectives early, their users late.
  manager.addPass(createScheduleOverlap());
  // The proof of the stage before holds for every order.
  manager.addPass(createVerifyPartition());
}

void divisi::registerSchedulePipeline() {
  mlir::PassPipelineRegistration<>("divisi-schedule",
                                   "Local functions in an order that overlaps",
                                   buildSchedulePipeline);
}
