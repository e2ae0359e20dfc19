//===- LowerRows.h - From vector loops to LLVM's IR -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_LOWERROWS_H
#define DIVISI_LIB_CODEGEN_LOWERROWS_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace divisi {

/// Lets `context` have the dialects of vector loops, and translate them.
void loadLoopDialects(mlir::MLIRContext &context);

/// Makes polynomials of exponentials and the like, and integers of bf16, which
/// not all processors have.
mlir::LogicalResult approximateFunctions(mlir::ModuleOp module);

/// What emitRows() has made, as LLVM's: functions of elements that processors
/// have no instructions for become polynomials. Null if a pass failed.
std::unique_ptr<llvm::Module> lowerRows(mlir::ModuleOp module,
                                        llvm::LLVMContext &context);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_LOWERROWS_H
