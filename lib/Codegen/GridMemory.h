//===- GridMemory.h - Loads and stores of a thread --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_GRIDMEMORY_H
#define DIVISI_LIB_CODEGEN_GRIDMEMORY_H

#include "lib/Codegen/NestMemory.h"

namespace divisi {

/// What a kernel is handed (GridCode.h), element by element. Nothing is kept
/// for later passes: they compute it again.
class GridMemory final : public NestMemory {
public:
  /// Of the arguments of the kernel.
  GridMemory(mlir::ImplicitLocOpBuilder &builder, const rt::RowNest &nest,
             mlir::ValueRange arguments);

  /// How many rows there are, ...
  mlir::Value rows() const { return rows_; }
  /// ... and how many elements in one.
  mlir::Value numColumns() const { return extents().back(); }

  mlir::Value columns(mlir::Type type) override;
  mlir::Value loadStill(int tensor) override;
  mlir::Value load(int tensor, mlir::Value column, mlir::Value mask) override;
  void storeResults(mlir::ValueRange values, mlir::Value column,
                    mlir::Value mask) override;
  bool keepsRows() const override { return false; }
  mlir::Value loadKept(int row, mlir::Value column) override;
  void storeKept(int row, mlir::Value value, mlir::Value column) override;

private:
  mlir::Value rows_;
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_GRIDMEMORY_H
