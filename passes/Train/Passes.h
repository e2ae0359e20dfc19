//===- Passes.h - The Train stage -------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_TRAIN_PASSES_H
#define DIVISI_PASSES_TRAIN_PASSES_H

#include "dialects/NN/NN.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace divisi {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Train/Passes.h.inc"

/// From what Import leaves to a training step, where the module notes that it
/// is wanted.
void buildTrainPipeline(mlir::OpPassManager &manager);

/// Lets divisi-opt know the stage as `divisi-train`.
void registerTrainPipeline();

} // namespace divisi

#endif // DIVISI_PASSES_TRAIN_PASSES_H
