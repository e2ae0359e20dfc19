//===- RowPairs.h - Products of pairs of rows -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ROWPAIRS_H
#define DIVISI_LIB_CODEGEN_ROWPAIRS_H

#include "divisi/runtime/kernels/Tensor.h"
#include "lib/Codegen/ThreadBuilder.h"

namespace divisi {

/// Rows of a matrix in memory: where its first element is, counted from
/// `pointer`, and how far the next row lies. Rows are contiguous.
struct MatrixRows {
  mlir::Value pointer, base, stride; ///< See above, in elements.
  mlir::Value columns;               ///< Elements of a row.
};

/// Products without tensor cores. A warp has some rows of its own; 32 rows of
/// another matrix come by at a time, of which a lane has one, and later on one
/// column of each 32:
///
///   products:  own[r] . coming[lane], in parts of 32 columns that blocks share
///   weigh:     sums[r] += kept[r][row] * coming[row][lane], for all 32 rows
class RowPairs : ThreadBuilder {
public:
  /// Rows that come by at a time, and columns of a part.
  static constexpr int64_t tile = 32;

  /// `rows` of each warp; `shared` has sharedElements(rows).
  RowPairs(mlir::ImplicitLocOpBuilder &builder, rt::DType type, int64_t rows,
           mlir::Value shared);

  /// What a block shares, in numbers that are computed with: 32 rows, each with
  /// an element more (so that lanes which read down a column find each in
  /// another bank), and for each own row 32 of its elements and 32 weights.
  static int64_t sharedElements(int64_t rows);

  /// The products of the lane's row of `coming`, which has those from `first`
  /// up to `end`, with each of the warp's own, from row `firstOwn` on; rows
  /// from `endOwn` on are zeros. All threads of the block come here.
  llvm::SmallVector<mlir::Value>
  products(const MatrixRows &own, mlir::Value firstOwn, mlir::Value endOwn,
           const MatrixRows &coming, mlir::Value first, mlir::Value end);
  /// Keeps what the lane's row weighs for the own row `r`.
  void keep(int64_t r, mlir::Value weight);
  /// Adds the weighted rows, of the column that the lane has of tile `t`, to
  /// `sums`, one for each own row. With `skips`, what weighs 0 is not looked
  /// at. All threads of the block come here.
  llvm::SmallVector<mlir::Value> weigh(const MatrixRows &coming,
                                       mlir::Value first, mlir::Value end,
                                       int64_t t, mlir::ValueRange sums,
                                       bool skips);

private:
  mlir::Value zero();
  mlir::Value loadReal(const MatrixRows &rows, mlir::Value row,
                       mlir::Value column, mlir::Value isThere);
  mlir::Value inTile(mlir::Value row, mlir::Value column);
  mlir::Value inRow(int64_t r, bool isWeight, mlir::Value column);
  void shareTile(const MatrixRows &rows, mlir::Value first, mlir::Value end,
                 mlir::Value column);

  const rt::DType type_;
  const int64_t rows_;
  const mlir::Type real_;
  const mlir::Value shared_, lane_, warp_, warps_;
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ROWPAIRS_H
