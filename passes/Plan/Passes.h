//===- Passes.h - Passes of the Plan stage ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where every operator runs: grids, splits, places at rest. Only annotates.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_PLAN_PASSES_H
#define DIVISI_PASSES_PLAN_PASSES_H

#include "dialects/NN/NN.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Plan/PlanModule.h"
#include "passes/Plan/OptionalParser.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace divisi {

#define GEN_PASS_DECL
#include "passes/Plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Plan/Passes.h.inc"

/// `nn-plan` with all of `options`.
std::unique_ptr<mlir::Pass> createNNPlan(const PlanOptions &options);

/// Appends the stage: a program without devices in, an annotated one out.
void buildPlanPipeline(mlir::OpPassManager &manager,
                       const PlanOptions &options);

/// Makes the stage known as `divisi-plan`, with the options of `nn-plan`.
void registerPlanPipeline();

} // namespace divisi

#endif // DIVISI_PASSES_PLAN_PASSES_H
