//===- EmitReduce.h - Reducing in blocks of threads -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITREDUCE_H
#define DIVISI_LIB_CODEGEN_EMITREDUCE_H

#include "divisi/runtime/code/GridReduce.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The kernel of GridReduce.h, in the mapped form (EmitGrid.h). Floats of up to
/// 32 bits are summed in f32, integers in 32 bits or their own:
///
///   for results from block, every gridDim, several at a time:
///     own = what this thread has of it, every so many elements
///     along rows: shuffles, then memory that the block shares (as in EmitGrid)
///     else:       shared[part][column] = own; barrier; part 0 adds them up
void emitKernel(mlir::ModuleOp module, const rt::GridReduce &reduce);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITREDUCE_H
