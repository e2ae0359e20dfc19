//===- ElementFunctions.h - Functions of elements as operations -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ELEMENTFUNCTIONS_H
#define DIVISI_LIB_CODEGEN_ELEMENTFUNCTIONS_H

#include "lib/Codegen/RowProgram.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// `function`, one before `Select`, of floats, in arith and math: scalars, or
/// vectors of one length, of f32; scalars may be f64. Comparisons give i1.
/// Others: TypedFunctions.h.
mlir::Value emitFunction(mlir::ImplicitLocOpBuilder &builder, Function function,
                         mlir::ValueRange operands);

/// A vector, or scalar, of floats that is `value` everywhere.
mlir::Value emitConstant(mlir::ImplicitLocOpBuilder &builder, mlir::Type type,
                         double value);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ELEMENTFUNCTIONS_H
