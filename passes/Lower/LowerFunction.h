//===- LowerFunction.h - From a local function to a program -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_LOWERFUNCTION_H
#define DIVISI_PASSES_LOWER_LOWERFUNCTION_H

#include "dialects/Exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace divisi {

/// The buffer type of a local tensor on `grid`.
exec::BufferType bufferType(mlir::Type tensor, mlir::FlatSymbolRefAttr grid);

/// The index in the entry's signature of an argument or result with these
/// attributes.
std::optional<int64_t> indexIn(mlir::DictionaryAttr attributes);

/// Makes the instructions of `function` in the program that `builder` stands
/// in; failure after an error.
mlir::LogicalResult lowerFunction(mlir::OpBuilder &builder,
                                  mlir::func::FuncOp function);

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_LOWERFUNCTION_H
