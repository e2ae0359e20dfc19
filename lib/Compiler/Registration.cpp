//===- Registration.cpp - All dialects and passes -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Registration.h"

#include "ModuleReport.h"
#include "dialects/Exec/Exec.h"
#include "dialects/NN/NN.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Autodiff/Gradients.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Plan/Passes.h"
#include "passes/Rewrite/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Train/Passes.h"

void divisi::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, nn::NNDialect, spmd::SPMDDialect,
                  exec::ExecDialect, pipe::PipeDialect>();
  registerGradients(registry);
}

void divisi::registerAllPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  registerImportPasses();
  registerImportPipeline();
  registerTrainPasses();
  registerTrainPipeline();
  registerRewritePipeline();
  registerRewritePasses();
  registerPartitionPasses();
  mlir::PassPipelineRegistration<>(
      "divisi-partition",
      "From an annotated global program to one local program per rank set",
      [](mlir::OpPassManager &manager) {
        manager.addPass(createNotePlanEdits());
        buildPartitionPipeline(manager);
        manager.addPass(createNoteReport());
      });
  registerPlanPasses();
  registerPlanPipeline();
  registerSchedulePasses();
  registerSchedulePipeline();
  registerLowerPasses();
  registerLowerPipeline();
}
