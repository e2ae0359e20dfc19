//===- Passes.h - Passes of the Lower stage ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From operators on local tensors to instructions on buffers.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_PASSES_H
#define DIVISI_PASSES_LOWER_PASSES_H

#include "dialects/Exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace divisi {

#define GEN_PASS_DECL
#include "passes/Lower/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Lower/Passes.h.inc"

/// Appends the stage: partitioned functions in, placed programs out.
/// Without `plansScratch` kernels are not asked for the scratch memory that
/// they want: all of it is then beside the arena.
void buildLowerPipeline(mlir::OpPassManager &manager, bool plansScratch = true);

/// Makes the stage known as `divisi-lower`.
void registerLowerPipeline();

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_PASSES_H
