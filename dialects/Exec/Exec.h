//===- Exec.h - The exec dialect --------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The language of how a program runs; ExecBase.td says what it is.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_EXEC_H
#define DIVISI_DIALECTS_EXEC_EXEC_H

#include "divisi/Layout/Grid.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>
#include <string>

#include "dialects/Exec/ExecBase.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.h.inc"

namespace divisi::exec {

/// Who meets in a collective or transfer: the communicator that it needs.
struct Meeting {
  mlir::FlatSymbolRefAttr grid; ///< Of a transfer, that of the source.
  /// Positions meet that differ in these only. For a transfer none: all of the
  /// grid, and all of `target`.
  llvm::SmallVector<AxisId, 2> axes;
  mlir::FlatSymbolRefAttr target; ///< Null except for transfers.
};

/// The queues that are no communicator's.
inline constexpr llvm::StringLiteral kComputeQueue = "compute",
                                     kCopyQueue = "copy";

/// How messages call the host's memory space, which has no name in types.
inline constexpr llvm::StringLiteral kHostSpace = "host";

/// For messages: `space`, or kHostSpace if it is empty.
inline llvm::StringRef nameOfSpace(llvm::StringRef space) {
  return space.empty() ? llvm::StringRef(kHostSpace) : space;
}

/// The buffer whose bytes `buffer` sees: itself, if it is no view.
mlir::Value rootOf(mlir::Value buffer);
/// The first byte of `buffer` in its root's.
int64_t offsetInRoot(mlir::Value buffer);

/// The tensors that `buffers` hold.
llvm::SmallVector<mlir::Type> tensorTypes(mlir::ValueRange buffers);

class InstructionInterface;
/// InstructionInterface::queueName
std::string queueName(InstructionInterface instruction);
/// Checks (Q1) of the interface.
mlir::LogicalResult verifyQueue(mlir::Operation *op);

class CallOp;
/// Checks (C4) of a call that has a region.
mlir::LogicalResult verifyFusedCall(CallOp op);

} // namespace divisi::exec

#include "dialects/Exec/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

#endif // DIVISI_DIALECTS_EXEC_EXEC_H
