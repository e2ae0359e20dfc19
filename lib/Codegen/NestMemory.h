//===- NestMemory.h - Where the rows of a nest lie --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_NESTMEMORY_H
#define DIVISI_LIB_CODEGEN_NESTMEMORY_H

#include "lib/Codegen/RowValues.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace divisi {

/// The tensors of a call, by rows. Elements in memory have the types of
/// tensors, values those that are computed with, or vectors of these.
class NestMemory : public ElementMemory {
public:
  /// Goes to that row of all tensors.
  void enterRow(mlir::Value row);

protected:
  NestMemory(mlir::ImplicitLocOpBuilder &builder, const rt::RowNest &nest)
      : b_(builder), nest_(nest) {}

  /// Says where all is: the extents and the strides, tensor by tensor, are the
  /// next numbers, and `tensors` are where these begin.
  void setPlaces(llvm::function_ref<mlir::Value()> nextNumber,
                 mlir::ValueRange tensors);
  const std::vector<mlir::Value> &extents() const { return extents_; }
  /// Where the present row of the tensor begins.
  mlir::Value row(size_t tensor) const { return rows_[tensor]; }

  /// Where element `index` lies.
  mlir::Value at(mlir::Value pointer, mlir::Type element, mlir::Value index);
  mlir::ImplicitLocOpBuilder &b_;
  const rt::RowNest &nest_;

private:
  std::vector<mlir::Value> extents_;
  std::vector<std::vector<mlir::Value>> strides_; ///< Null: it does not move.
  std::vector<mlir::Value> bases_, rows_;         ///< Per tensor.
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_NESTMEMORY_H
