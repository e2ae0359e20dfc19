//===- Pipeline.cpp - The Rewrite stage -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Rewrite/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

std::optional<divisi::RewriteMode>
divisi::parseRewriteMode(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<RewriteMode>>(name)
      .Case("off", RewriteMode::Off)
      .Case("greedy", RewriteMode::Greedy)
      .Case("search", RewriteMode::Search)
      .Case("joint", RewriteMode::Joint)
      .Default(std::nullopt);
}

void divisi::buildRewritePipeline(OpPassManager &manager,
                                  const RewriteOptions &options,
                                  const DeviceKind &kind,
                                  const SharedRules &own) {
  switch (options.mode) {
  case RewriteMode::Off:
    return;
  case RewriteMode::Greedy:
    manager.addPass(createApplyRules());
    break;
  case RewriteMode::Search:
  case RewriteMode::Joint:
    manager.addPass(createSearchRules(options, kind, own));
    break;
  }
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Weights that were joined or multiplied are so once.
  manager.addPass(createHoistInit());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createSymbolDCEPass());
}

void divisi::registerRewritePipeline() {
  PassPipelineRegistration<>(
      "divisi-rewrite",
      "From clean nn to the cheapest nn that a search finds, on cpu:1",
      [](OpPassManager &manager) {
        RewriteOptions options;
        options.mode = RewriteMode::Search;
        buildRewritePipeline(manager, options, presetCluster("cpu", 1)->pace(),
                             nullptr);
      });
}
