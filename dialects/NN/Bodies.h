//===- Bodies.h - Operators that run functions ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body is a private function. It is planned, partitioned and lowered like an
// entry, once, and run by one nn.loop alone:
//
//   nn.loop @body(%count, %h, %x) max 24        (index, carried..., others...)
//   func.func private @body(%i, %h, %x) -> %h   (carried...)
//
// Operand k of the loop is argument k of the body, and result k is argument
// k + 1: one tensor, which lies where the body's argument does.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_BODIES_H
#define DIVISI_DIALECTS_NN_BODIES_H

#include "dialects/NN/NN.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/NN/NNBodies.h.inc"

namespace divisi::nn {

/// Whether `function` is a body: private, and an entry otherwise. Entries are
/// what users call, where isEntry() also means bodies.
bool isBody(mlir::FunctionOpInterface function);

/// Which argument of a body is what it returns as `result`.
inline unsigned carriedArgument(unsigned result) { return result + 1; }

/// How often the body of `loop` runs at most, where the function that has it
/// runs `outside` times: in estimates no more than a million times, beyond
/// which nothing is decided by it.
int64_t repeatsOf(LoopOp loop, int64_t outside);

/// The function called `name` in the module of `op`, or null.
mlir::FunctionOpInterface lookupBody(mlir::Operation *op,
                                     mlir::FlatSymbolRefAttr name);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_BODIES_H
