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

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>

#include "dialects/Exec/ExecBase.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

#endif // DIVISI_DIALECTS_EXEC_EXEC_H
