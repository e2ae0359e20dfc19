//===- EmitRows.h - From row programs to vector loops -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITROWS_H
#define DIVISI_LIB_CODEGEN_EMITROWS_H

#include "lib/Codegen/RowProgram.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The function of RowCode.h that does `program` for calls with nests like
/// `nest`, on vectors of `lanes` elements. A pass is a loop over some vectors
/// at a time, and one over what is left, with masks:
///
///   for row:
///     for i = begin to main step 4 * 16       four sums of vectors
///     for i = main to end step 16             mask of end - i elements
///     sum of sums
///     …                                       the next pass
///
/// Sums are so in an order that depends on the extents of rows alone.
void emitRows(mlir::ModuleOp module, const RowProgram &program,
              const rt::RowNest &nest, int64_t lanes);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITROWS_H
