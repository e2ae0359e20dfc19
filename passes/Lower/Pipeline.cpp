//===- Pipeline.cpp - The Lower stage -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

void divisi::buildLowerPipeline(mlir::OpPassManager &manager,
                                const LowerOptions &options) {
  // Operators become kernel calls.
  manager.addPass(createLowerToExec());
  // Small devices have small parts, and memory for no more.
  manager.addPass(createSplitKinds());
  // Where values lie is known before where new ones of globals are written.
  if (options.device.backend) {
    manager.addPass(createPlaceSpaces(options.device));
  }
  // Others want other formats than its parts do.
  manager.addPass(createFuseWeightGradients());
  // Products that gradients have in common are made once.
  manager.addPass(createJoinAttention());
  // What packs and unpacks are calls like others.
  if (options.choosesFormats) {
    manager.addPass(createChooseFormats());
  }
  // Formats are chosen: what is left row-major may have code of its own.
  if (!options.nativeLevel.empty() || !options.device.codeTarget.empty()) {
    manager.addPass(createGenerateCode(options.nativeLevel, options.device));
  }
  // The list is final: who reads an old value when another writes the new one.
  // So are kernels, which say whether they may write it over the old one.
  manager.addPass(createWriteGlobals(options.device));
  manager.addPass(createWriteCarried());
  // What they want beside their buffers lies in the arena, too.
  if (options.plansScratch) {
    manager.addPass(createAskKernels(options.device));
  }
  // Lifetimes are final only now.
  manager.addPass(createPlanMemory(options.device));
  // Which bytes are used again is known only now.
  manager.addNestedPass<exec::ProgramOp>(createOrderQueues());
  // Proves the work of all passes above.
  if (options.proves) {
    manager.addPass(createVerifyLower());
  }
}

void divisi::registerLowerPipeline() {
  mlir::PassPipelineRegistration<>(
      "divisi-lower",
      "From local programs to instruction lists with placed buffers",
      [](mlir::OpPassManager &manager) { buildLowerPipeline(manager); });
}
