//===- StoredElements.h - Elements in memory --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_STOREDELEMENTS_H
#define DIVISI_LIB_CODEGEN_STOREDELEMENTS_H

#include "divisi/runtime/kernels/Tensor.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// What an element is in memory.
mlir::Type storedElement(mlir::OpBuilder &builder, rt::DType type);
/// The type of `like`, which may be a vector, with other elements.
mlir::Type withElement(mlir::Type like, mlir::Type element);
/// As it is computed with (computedAs()): narrow floats as f32, logical values
/// as i1, or vectors of these; others as they are.
mlir::Value fromStored(mlir::ImplicitLocOpBuilder &builder, mlir::Value stored,
                       rt::DType type);
/// The opposite.
mlir::Value toStored(mlir::ImplicitLocOpBuilder &builder, mlir::Value value,
                     rt::DType type);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_STOREDELEMENTS_H
