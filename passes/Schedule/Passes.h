//===- Passes.h - Passes of the Schedule stage ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When the operations of local functions run.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_SCHEDULE_PASSES_H
#define DIVISI_PASSES_SCHEDULE_PASSES_H

#include "dialects/Exec/Exec.h"
#include "dialects/SPMD/SPMD.h"
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
#include "passes/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"

/// Appends the stage: local functions in, the same in another order out, unless
/// collectives are not to `overlap`; what one kernel can do is one call, unless
/// it is not to `fuse`. What nobody runs need not be proved.
void buildSchedulePipeline(mlir::OpPassManager &manager, bool overlap = true,
                           bool fuse = true, bool proves = true);

/// Makes the stage known as `divisi-schedule`.
void registerSchedulePipeline();

} // namespace divisi

#endif // DIVISI_PASSES_SCHEDULE_PASSES_H
