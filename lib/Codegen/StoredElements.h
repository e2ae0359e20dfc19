//===- StoredElements.h - Elements in memory --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_STOREDELEMENTS_H
#define DIVISI_LIB_CODEGEN_STOREDELEMENTS_H

#include "divisi/runtime/Tensor.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// What an element is in memory.
mlir::Type storedElement(mlir::OpBuilder &builder, rt::DType type);
/// As it is computed with: f64 as it is, other floats and integers of 8 bits as
/// f32, logical values as i1, or vectors of these.
mlir::Value fromStored(mlir::ImplicitLocOpBuilder &builder, mlir::Value stored,
                       rt::DType type);
/// The opposite.
mlir::Value toStored(mlir::ImplicitLocOpBuilder &builder, mlir::Value value,
                     rt::DType type);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_STOREDELEMENTS_H
