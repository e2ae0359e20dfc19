//===- TensorPairs.h - Pairs of rows on tensor cores ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_TENSORPAIRS_H
#define DIVISI_LIB_CODEGEN_TENSORPAIRS_H

#include "lib/Codegen/RowPairs.h"
#include "lib/Codegen/WarpProduct.h"

namespace divisi {

/// What RowPairs does, on tensor cores: a warp has 16 rows of its own, and what
/// 32 rows that come by give with them lies among its threads as WarpProduct's
/// results, four values for each 8 of these rows. So what they weigh can be the
/// left side of the next product.
class TensorPairs : ThreadBuilder {
public:
  /// Rows that come by at a time.
  static constexpr int64_t tile = RowPairs::tile;
  /// Of these: what a product gives, what one takes.
  static constexpr int64_t resultTiles = tile / WarpProduct::columns,
                           weightTiles = tile / WarpProduct::depth;

  /// Of f16 or bf16; `shared` has elements, and is addressed by them.
  TensorPairs(mlir::ImplicitLocOpBuilder &builder, rt::DType type,
              mlir::Value shared);

  /// The lane's first row of 16, the second being 8 on: WarpProduct's g.
  mlir::Value row() const { return group_; }
  /// The first of the two columns that it has of each 8: WarpProduct's 2 t.
  mlir::Value column() const { return pair_; }
  /// The bits of an element in memory.
  mlir::Value loadBits(mlir::Value pointer, mlir::Value index);

  /// Lets the warp share `width` elements of a row, with zeros from where it
  /// ends, or zeros alone if it is not there. `put` is handed what stands in
  /// each column.
  void
  shareRow(const MatrixRows &rows, mlir::Value row, mlir::Value isThere,
           int64_t width,
           llvm::function_ref<void(mlir::Value column, mlir::Value bits)> put);
  /// The products of 16 rows, the first of which is shared at `own`, and 32 at
  /// `coming`; both lie `pitch` apart and have `depthTiles` times 16 elements.
  llvm::SmallVector<mlir::Value> products(mlir::Value own, mlir::Value coming,
                                          int64_t pitch, int64_t depthTiles);
  /// Adds what 32 rows weigh, rounded, times these to `sums`, four for each 8
  /// columns. At `columns` is shared what the rows have in the first column;
  /// the next is `pitch` apart.
  llvm::SmallVector<mlir::Value> weigh(mlir::ValueRange weights,
                                       mlir::Value columns, int64_t pitch,
                                       mlir::ValueRange sums);

private:
  mlir::Value loadPair(mlir::Value place);

  WarpProduct product_;
  const mlir::Value shared_, lane_;
  mlir::Value group_, pair_;
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_TENSORPAIRS_H
