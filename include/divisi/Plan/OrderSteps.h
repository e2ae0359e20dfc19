//===- OrderSteps.h - Operators in the order of a pipeline ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry with `pipe.schedule` gets its operators in one order that gives each
// stage its own (dialects/Pipe):
//
//   stage 0: 0.F0 0.F1 0.B0 0.B1  ->  0.F0 0.F1 1.F0 1.B0 0.B0 1.F1 1.B1 0.B1
//   stage 1: 1.F0 1.B0 1.F1 1.B1
//
// An operator that needs what a later step makes comes directly behind that.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_ORDERSTEPS_H
#define DIVISI_PLAN_ORDERSTEPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// Orders the operators of `entry`, if it has a schedule. Doing so again
/// changes nothing.
void orderSteps(mlir::func::FuncOp entry);

} // namespace divisi

#endif // DIVISI_PLAN_ORDERSTEPS_H
