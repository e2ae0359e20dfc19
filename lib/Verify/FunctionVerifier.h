//===- FunctionVerifier.h - Proof of one rank program -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_VERIFY_FUNCTIONVERIFIER_H
#define DIVISI_LIB_VERIFY_FUNCTIONVERIFIER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi::verify {

/// Proves, operation by operation, that what `function` holds on each position
/// is what the types claim: operators by their loop nests, moves by the boxes
/// that they join, arguments, results and globals by their places. Reports at
/// the first that is wrong.
mlir::LogicalResult verifyFunction(mlir::func::FuncOp function);

} // namespace divisi::verify

#endif // DIVISI_LIB_VERIFY_FUNCTIONVERIFIER_H
