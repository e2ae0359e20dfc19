//===- Pipeline.cpp - The Import stage ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Import/Passes.h"
#include "passes/Rewrite/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void divisi::buildImportPipeline(OpPassManager &manager,
                                 const PrecisionOptions &precision,
                                 bool integers, const SharedRules &own) {
  // Exporters repeat themselves; patterns want each value once.
  manager.addPass(createCSEPass());
  // Whole operators again, as rules know exporters to write them: before parts
  // are moved, and get more dims.
  manager.addNestedPass<func::FuncOp>(createSpellProducts());
  manager.addPass(createApplyRulesForAll(own));
  manager.addNestedPass<func::FuncOp>(createFuseAttention({/*fourDims=*/true}));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // After this every dim means one thing.
  manager.addPass(createUnflatten());
  manager.addPass(createApplyRulesForAll(own));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // The rest: labels say by now what is moved, and what is repeated.
  manager.addNestedPass<func::FuncOp>(createFuseAttention());
  manager.addPass(createCanonicalizerPass());
  // Whole vectors yet.
  manager.addPass(createFoldScales());
  if (integers) {
    // Labels say by now what is moved; weights must still be codes.
    manager.addNestedPass<func::FuncOp>(createMoveCodes());
    manager.addNestedPass<func::FuncOp>(createIntegerProducts());
    manager.addPass(createCanonicalizerPass());
  }
  if (!precision.type.empty()) {
    // Of whole operators, and before casts of weights would have to be done in
    // every run.
    LowerPrecisionOptions options;
    options.precision = precision.type;
    options.keepF32.assign(precision.keepF32.begin(), precision.keepF32.end());
    options.narrowSums = precision.narrowSums;
    options.keepsFirst = precision.keepsFirst;
    manager.addPass(createLowerPrecision(options));
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
  }
  // Last: what is left between parameters and their uses has to be computed.
  manager.addPass(createHoistInit());
  manager.addPass(createCanonicalizerPass());
  // Globals that folding has made superfluous would still be loaded.
  manager.addPass(createSymbolDCEPass());
  // Proves the work of all passes above.
  manager.addPass(createVerifyImport());
}

namespace {

/// What `divisi-import` takes.
struct ImportPipelineOptions
    : public PassPipelineOptions<ImportPipelineOptions> {
  Option<std::string> precision{
      *this, "precision", llvm::cl::desc("bf16 or f16 (default: as it is)")};
  ListOption<std::string> keepF32{*this, "keep-f32",
                                  llvm::cl::desc("names of what stays f32")};
  Option<bool> narrowSums{
      *this, "narrow-sums",
      llvm::cl::desc("sums of products with weights are so, too")};
  Option<bool> keepsFirst{*this, "keeps-first",
                          llvm::cl::desc("products that inputs meet first stay "
                                         "f32 (default; not in training)"),
                          llvm::cl::init(true)};
  Option<bool> integers{*this, "integers",
                        llvm::cl::desc("multiply quantized numbers in integers "
                                       "(default: in floats)")};
};

} // namespace

void divisi::registerImportPipeline() {
  PassPipelineRegistration<ImportPipelineOptions>(
      "divisi-import", "From what the importer returns to clean nn",
      [](OpPassManager &manager, const ImportPipelineOptions &options) {
        buildImportPipeline(manager,
                            {options.precision,
                             {options.keepF32.begin(), options.keepF32.end()},
                             options.narrowSums, options.keepsFirst},
                            options.integers);
      });
}
