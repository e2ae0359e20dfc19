//===- SPMD.h - The dialect of where a program runs -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything of the `spmd` dialect in one include. Strategies are read and
// written by Strategy.h.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_SPMD_H
#define DIVISI_DIALECTS_SPMD_SPMD_H

#include "dialects/NN/NN.h"
#include "dialects/SPMD/NamedSplit.h"
#include "divisi/Layout/Steps.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/SPMD/SPMDDialect.h.inc"
#include "dialects/SPMD/SPMDInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/SPMD/SPMDAttrs.h.inc"

namespace divisi::spmd {
/// What every step has to satisfy; see the constraints of the step ops.
llvm::LogicalResult verifyStepOp(mlir::Operation *op,
                                 mlir::SymbolTableCollection &symbolTable);
} // namespace divisi::spmd

#define GET_OP_CLASSES
#include "dialects/SPMD/SPMDOps.h.inc"

#endif // DIVISI_DIALECTS_SPMD_SPMD_H
