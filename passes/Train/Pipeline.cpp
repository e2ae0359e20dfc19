//===- Pipeline.cpp - The Train stage -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"

#include "passes/Plan/Passes.h"
#include "passes/Rewrite/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void divisi::buildTrainPipeline(OpPassManager &manager) {
  // Gradients go through loops, whose bodies read nothing but arguments.
  manager.addPass(createIsolateBodies());
  manager.addPass(createTrain());
  // Products take up transposes and reshapes of gradients; what both passes
  // compute is computed once, and what nobody needs, not at all.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // What gradients make of frozen weights alone.
  manager.addPass(createHoistInit());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createSymbolDCEPass());
}

void divisi::registerTrainPipeline() {
  PassPipelineRegistration<>("divisi-train",
                             "From clean nn to a training step, if one is "
                             "noted",
                             buildTrainPipeline);
}
