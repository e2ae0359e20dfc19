//===- RowMemory.h - Loads and stores of rows -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ROWMEMORY_H
#define DIVISI_LIB_CODEGEN_ROWMEMORY_H

#include "runtime/kernels/RowNest.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <vector>

namespace divisi {

/// Begins the function `name` of RowCode.h, in which the builder then stands;
/// its argument.
mlir::Value beginFunction(mlir::ImplicitLocOpBuilder &builder,
                          llvm::StringRef name);
/// Ends it.
void endFunction(mlir::ImplicitLocOpBuilder &builder);

/// What a function is handed (rt::RowArguments), and what it does with it:
/// elements in memory have the types of tensors, values are i1 or f32, also of
/// integers of 8 bits. A `mask` may be null, then all elements of the vector are
/// meant.
class RowMemory {
public:
  /// Reads all that is the same for all rows.
  RowMemory(mlir::ImplicitLocOpBuilder &builder, const rt::RowNest &nest,
            int64_t lanes, mlir::Value arguments);

  mlir::Value rowBegin() const { return rowBegin_; }
  mlir::Value rowEnd() const { return rowEnd_; }
  mlir::Value columnBegin() const { return columnBegin_; }
  mlir::Value columnEnd() const { return columnEnd_; }
  /// The elements of a row, as a vector of equal floats.
  mlir::Value columns() const { return columns_; }

  /// Goes to that row of all tensors.
  void enterRow(mlir::Value row);
  /// The mask of the elements from `column` to the end.
  mlir::Value maskFrom(mlir::Value column);

  /// Of a tensor that does not move along the row: its element, many times.
  mlir::Value loadStill(int tensor);
  /// Of another one: the vector at `column`.
  mlir::Value load(int tensor, mlir::Value column, mlir::Value mask);
  /// Writes the results of the call.
  void storeResults(mlir::ValueRange values, mlir::Value column,
                    mlir::Value mask);
  /// A vector of a row of scratch memory, which has room for whole ones: what
  /// is stored with a mask takes long to be loaded again.
  mlir::Value loadKept(int row, mlir::Value column);
  void storeKept(int row, mlir::Value value, mlir::Value column);

private:
  mlir::Type storedType(rt::DType type) const;
  mlir::Value field(size_t offset, mlir::Type type);
  mlir::Value at(mlir::Value pointer, mlir::Type element, mlir::Value index);
  mlir::Value loadVector(mlir::Value pointer, mlir::Type element,
                         mlir::Value mask);
  void storeVector(mlir::Value value, mlir::Value pointer, mlir::Value mask);
  mlir::Value keptAt(int row, mlir::Value column);
  mlir::Value toValue(mlir::Value stored, rt::DType type);
  mlir::Value toStored(mlir::Value value, rt::DType type);

  mlir::ImplicitLocOpBuilder &b_;
  const rt::RowNest &nest_;
  int64_t lanes_;
  mlir::Value arguments_;
  mlir::Value rowBegin_, rowEnd_, columnBegin_, columnEnd_, columns_;
  mlir::Value scratch_, scratchColumns_;
  std::vector<mlir::Value> extents_;
  std::vector<std::vector<mlir::Value>> strides_; ///< Null: it does not move.
  std::vector<mlir::Value> bases_, rows_;         ///< Per tensor.
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ROWMEMORY_H
