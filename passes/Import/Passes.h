//===- Passes.h - The Import stage ------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_IMPORT_PASSES_H
#define DIVISI_PASSES_IMPORT_PASSES_H

#include "dialects/NN/NN.h"
#include "divisi/Precision/Precision.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/Rewrite/Passes.h"

namespace divisi {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"

/// From what importOnnx returns to the program that later stages see, in the
/// precision that is asked for; with `integers` where who runs it multiplies
/// bytes faster than floats, and as exactly. `own` are applied where those of
/// Divisi are, and before them.
void buildImportPipeline(mlir::OpPassManager &manager,
                         const PrecisionOptions &precision = {},
                         bool integers = false, const SharedRules &own = {});

/// Makes the stage known as `divisi-import`, with the options of
/// `nn-lower-precision`, and `integers`.
void registerImportPipeline();

} // namespace divisi

#endif // DIVISI_PASSES_IMPORT_PASSES_H
