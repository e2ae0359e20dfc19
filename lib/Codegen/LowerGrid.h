//===- LowerGrid.h - From blocks of threads to a machine's ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_LOWERGRID_H
#define DIVISI_LIB_CODEGEN_LOWERGRID_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// Lets `context` have the dialects of blocks of threads, and translate them.
void loadGridDialects(mlir::MLIRContext &context);

/// Says that a block of `kernel` has at most so many warps, and that ptxas may
/// use as many registers as let so many blocks run at a time; left to itself it
/// would rather spill some than have fewer blocks.
void limitThreads(mlir::LLVM::LLVMFuncOp kernel, int warps, int blocks);

/// Of what emitGrid() has made: what a thread asks of its device is asked of
/// NVIDIA's (NVVM). The rest is lowered as loops are (LowerRows.h).
mlir::LogicalResult mapToNvvm(mlir::ModuleOp module);

/// The same as a function of EmulatedGrid.h in place of the kernel.
void emulateGrid(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_LOWERGRID_H
