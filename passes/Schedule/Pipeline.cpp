//===- Pipeline.cpp - The Schedule stage ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void divisi::buildSchedulePipeline(mlir::OpPassManager &manager, bool overlap,
                                   bool fuse, bool proves) {
  // What is one call has one place in the order.
  if (fuse) {
    manager.addNestedPass<mlir::func::FuncOp>(createFuseOperators());
  }
  // Collectives early, their users late.
  if (overlap) {
    manager.addPass(createScheduleOverlap());
  }
  // The proof of the stage before holds for every order.
  if (proves) {
    manager.addPass(createVerifyPartition());
  }
}

void divisi::registerSchedulePipeline() {
  mlir::PassPipelineRegistration<>(
      "divisi-schedule", "Local functions in an order that overlaps",
      [](mlir::OpPassManager &manager) { buildSchedulePipeline(manager); });
}
