//===- OperatorForms.h - Operators of nn by name ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_RULES_OPERATORFORMS_H
#define DIVISI_LIB_RULES_OPERATORFORMS_H

#include "divisi/Support/Status.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace divisi::rewrite {

/// Builds the operator `name` ("matmul") of nn where `builder` stands, on
/// values of whole tensors, with exactly these attributes. Its result has
/// `type`, or else the type that the operator infers. Fails with Unsupported if
/// rules have no such operator, and with Invalid, in the operator's words, if
/// it may not be so.
Expected<mlir::Operation *>
buildOperator(mlir::OpBuilder &builder, mlir::Location location,
              llvm::StringRef name, mlir::ValueRange operands,
              mlir::DictionaryAttr attributes,
              std::optional<mlir::RankedTensorType> type);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_RULES_OPERATORFORMS_H
