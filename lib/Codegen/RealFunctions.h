//===- RealFunctions.h - Functions of f64 as arithmetic ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a GPU has no instruction for, as operations on f64 that all machines
// have: range reduction, then a series whose rest is below the last bit. They
// are within a few units in the last place, but for powers, whose error grows
// with the logarithm of the result. f32 gets what is rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_REALFUNCTIONS_H
#define DIVISI_LIB_CODEGEN_REALFUNCTIONS_H

#include "lib/Codegen/RowProgram.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// `function` of scalars of f64: exponentials and logarithms, trigonometric and
/// hyperbolic functions and their inverses, the error function, powers, and the
/// rest of a division, which is exact.
mlir::Value emitReal(mlir::ImplicitLocOpBuilder &builder, Function function,
                     mlir::ValueRange operands);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_REALFUNCTIONS_H
