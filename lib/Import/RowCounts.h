//===- RowCounts.h - Rows of which the run knows how many count -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many elements are not zero, say, only the run knows; shapes are static.
// So a value has as many rows as there can be, of which the first ones count,
// and so has all that is made of it row by row. An output of such rows has
// zeros behind those that count, and their number is one more output:
//
//   NonZero(x) -> Gather(w, .) -> y      y: as many rows as x has elements
//                                        y.count: how many of them count
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_ROWCOUNTS_H
#define DIVISI_LIB_IMPORT_ROWCOUNTS_H

#include "divisi/Support/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// Of `value` the first `count` indices of dim `dim` count: a scalar of i64.
struct CountedRows {
  mlir::Value value; ///< With all rows that there can be.
  int64_t dim = 0;   ///< Of which they are the indices.
  mlir::Value count; ///< How many rows count.
};

/// Follows `rows` through the block that ends with the outputs `values`, called
/// `names`: adds to both the counts of outputs, which get zeros behind these
/// rows. Rows that are scattered are, if they count. Fails with Unsupported at
/// an operator that would look at all rows.
Status countRows(mlir::OpBuilder &builder, llvm::ArrayRef<CountedRows> rows,
                 std::vector<mlir::Value> &values,
                 std::vector<std::string> &names);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_ROWCOUNTS_H
