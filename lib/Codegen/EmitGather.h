//===- EmitGather.h - Gathering in blocks of threads ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITGATHER_H
#define DIVISI_LIB_CODEGEN_EMITGATHER_H

#include "divisi/runtime/code/GridGather.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The kernel of GridGather.h, in the mapped form (EmitGrid.h). Each thread has
/// every so many elements; those of the first block have every so many indices,
/// too, and tell each other the first of them that is bad.
void emitKernel(mlir::ModuleOp module, const rt::GridGather &gather);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITGATHER_H
