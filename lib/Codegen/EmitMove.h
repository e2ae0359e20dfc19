//===- EmitMove.h - Moving elements in blocks of threads --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITMOVE_H
#define DIVISI_LIB_CODEGEN_EMITMOVE_H

#include "divisi/runtime/code/GridMove.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The kernel of GridMove.h, in the mapped form (EmitGrid.h). Each thread moves
/// every so many elements; where there are squares a block moves every so many
/// of these:
///
///   for squares from block, every gridDim:
///     shared[row][column] = from[…]     columns side by side in the operand
///     barrier
///     to[…] = shared[column][row]       columns side by side in the result
///     barrier
void emitKernel(mlir::ModuleOp module, const rt::GridMove &move);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITMOVE_H
