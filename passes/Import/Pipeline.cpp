//===- Pipeline.cpp - The Import stage ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void divisi::buildImportPipeline(OpPassManager &manager) {
  // Exporters repeat themselves; patterns want each value once.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Whole operators again, before their parts get more dims.
  manager.addNestedPass<func::FuncOp>(createFuseActivations());
  manager.addPass(createCanonicalizerPass());
  // After this every dim means one thing.
  manager.addPass(createUnflatten());
  manager.addNestedPass<func::FuncOp>(createFuseActivations());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Last: what is left between parameters and their uses has to be computed.
  manager.addPass(createHoistInit());
  manager.addPass(createCanonicalizerPass());
  // Globals that folding has made superfluous would still be loaded.
  manager.addPass(createSymbolDCEPass());
  // Proves the work of all passes above.
  manager.addPass(createVerifyImport());
}

void divisi::registerImportPipeline() {
  PassPipelineRegistration<>("divisi-import",
                             "From what the importer returns to clean nn",
                             buildImportPipeline);
}
