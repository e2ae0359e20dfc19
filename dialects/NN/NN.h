//===- NN.h - The nn dialect ------------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed, for one device. Every operator has
//
//   XOp::create(builder, loc, operands..., attributes...)
//       for what is known to be legal, and
//   nn::create<XOp>(builder, loc, operands..., attributes...)
//       for what is not: it reports an error at `loc` and returns null;
//   XOp::inferType or XOp::checkType
//       the same rules without building anything (InferredType.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NN_H
#define DIVISI_DIALECTS_NN_NN_H

#include "dialects/NN/Factors.h"
#include "dialects/NN/InferredType.h"
#include "dialects/NN/Rounding.h"
#include "divisi/Layout/Loops.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NN/NNAttrInterfaces.h.inc"
#include "dialects/NN/NNBase.h.inc"
#include "dialects/NN/NNEnums.h.inc"
#include "dialects/NN/NNInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/NN/NNTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/NN/NNOps.h.inc"

#endif // DIVISI_DIALECTS_NN_NN_H
