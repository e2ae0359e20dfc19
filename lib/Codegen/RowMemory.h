//===- RowMemory.h - Loads and stores of rows -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ROWMEMORY_H
#define DIVISI_LIB_CODEGEN_ROWMEMORY_H

#include "lib/Codegen/NestMemory.h"

#include "mlir/IR/BuiltinTypes.h"

namespace divisi {

/// Begins the function `name` of RowCode.h, in which the builder then stands;
/// its argument.
mlir::Value beginFunction(mlir::ImplicitLocOpBuilder &builder,
                          llvm::StringRef name);
/// Ends it.
void endFunction(mlir::ImplicitLocOpBuilder &builder);

/// What a function of a processor is handed (rt::RowArguments), by vectors.
class RowMemory final : public NestMemory {
public:
  /// Reads all that is the same for all rows.
  RowMemory(mlir::ImplicitLocOpBuilder &builder, const rt::RowNest &nest,
            int64_t lanes, mlir::Value arguments);

  /// The rows and columns that the call does, as i64: from begin on, up to end.
  mlir::Value rowBegin() const { return rowBegin_; }
  /// The first row that it leaves.
  mlir::Value rowEnd() const { return rowEnd_; }
  /// The first column that it does.
  mlir::Value columnBegin() const { return columnBegin_; }
  /// The first column that it leaves.
  mlir::Value columnEnd() const { return columnEnd_; }
  mlir::Value columns(mlir::Type) override { return columns_; }

  /// The mask of the elements from `column` to the end.
  mlir::Value maskFrom(mlir::Value column);

  mlir::Value loadStill(int tensor) override;
  mlir::Value load(int tensor, mlir::Value column, mlir::Value mask) override;
  void storeResults(mlir::ValueRange values, mlir::Value column,
                    mlir::Value mask) override;
  bool keepsRows() const override { return true; }
  /// Rows of scratch memory have room for whole vectors: what is stored with a
  /// mask takes long to be loaded again.
  mlir::Value loadKept(int row, mlir::Value column) override;
  void storeKept(int row, mlir::Value value, mlir::Value column) override;

private:
  mlir::Value field(size_t offset, mlir::Type type);
  mlir::Value loadVector(mlir::Value pointer, mlir::Type element,
                         mlir::Value mask);
  void storeVector(mlir::Value value, mlir::Value pointer, mlir::Value mask);
  mlir::Value keptAt(int row, mlir::Value column);

  int64_t lanes_;
  mlir::Value arguments_;
  mlir::Value rowBegin_, rowEnd_, columnBegin_, columnEnd_, columns_;
  mlir::Value scratch_, scratchColumns_;
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ROWMEMORY_H
