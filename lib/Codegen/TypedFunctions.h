//===- TypedFunctions.h - Functions of all types ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_TYPEDFUNCTIONS_H
#define DIVISI_LIB_CODEGEN_TYPEDFUNCTIONS_H

#include "lib/Codegen/RowProgram.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// `function` of `operands`, of which the last is computed as `from`
/// (computedAs()), with a result that is computed as `to`. Scalars; for vectors
/// only where RowProgram::isForVectors().
mlir::Value emitTyped(mlir::ImplicitLocOpBuilder &builder, Function function,
                      rt::DType from, rt::DType to, mlir::ValueRange operands);

/// The same of integers, as the reference computes them: wrapping, with no
/// trap. Logical values are i1.
mlir::Value emitInteger(mlir::ImplicitLocOpBuilder &builder, Function function,
                        rt::DType type, mlir::ValueRange operands);

/// A scalar that is computed as `from` as one of `to`, as rt::convertElement();
/// `how` is a Cast.
mlir::Value emitCast(mlir::ImplicitLocOpBuilder &builder, Function how,
                     rt::DType from, rt::DType to, mlir::Value value);

/// Whether integers of `type`, or logical values, have no sign.
bool isUnsigned(rt::DType type);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_TYPEDFUNCTIONS_H
