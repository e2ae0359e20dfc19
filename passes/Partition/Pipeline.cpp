//===- Pipeline.cpp - The Partition stage ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Passes.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void divisi::buildPartitionPipeline(OpPassManager &manager,
                                    const PartitionOptions &options) {
  // The plan has one micro-batch for all; what runs has each of them.
  manager.addPass(createWriteMicroBatches({.most = options.mostBatches}));
  // Whoever has edited a dump may have given stages another order.
  manager.addNestedPass<func::FuncOp>(createOrderSteps());
  // Say which layouts meet, not yet how.
  manager.addPass(createSPMDPartition({.proves = options.proves}));
  // How: the routes that the plan was priced by.
  manager.addPass(createSPMDRoute());
  // Grids that share no device run apart.
  manager.addPass(createSplitRanks());
  // Proves the work of all passes above.
  if (options.proves) {
    manager.addPass(createVerifyPartition());
  }
}
