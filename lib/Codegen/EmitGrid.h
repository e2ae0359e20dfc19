//===- EmitGrid.h - From row programs to blocks of threads ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITGRID_H
#define DIVISI_LIB_CODEGEN_EMITGRID_H

#include "lib/Codegen/RowProgram.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The kernel of GridCode.h that does `program` for calls with nests like
/// `nest`: what each thread of a grid of blocks does. Threads side by side have
/// elements side by side of one row; some rows are done by one block:
///
///   for rows from block * rowsPerBlock, thread.y one of them:
///     for column = thread.x; column < columns; column += lanes
///       …                                       a sum per thread
///     shuffles among 32 threads, then through shared memory
///     …                                         the next pass
///
/// All threads of a block go through the same shuffles and barriers, whether
/// they have a row or not. Sums are in an order that depends on the extents of
/// rows alone.
///
/// What is emitted, in `gpu`, `scf`, `arith`, `math` and LLVM's dialect, is the
/// same for every machine that has blocks, threads, barriers and shuffles; but
/// for what tensor cores multiply (WarpProduct.h), which is NVIDIA's.
void emitGrid(mlir::ModuleOp module, const RowProgram &program,
              const rt::RowNest &nest);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITGRID_H
