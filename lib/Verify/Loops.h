//===- Loops.h - Whether loops and bodies fit together ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_VERIFY_LOOPS_H
#define DIVISI_LIB_VERIFY_LOOPS_H

#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/SPMD.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi::verify {

/// The places of the arguments of the body of `op`, all on one grid. Reports
/// where there are none, or of another number or type than the operands.
mlir::FailureOr<llvm::SmallVector<spmd::PlaceAttr>> placesOf(nn::LoopOp op);

/// The grid of `op`, for which placesOf() has succeeded.
mlir::FlatSymbolRefAttr gridOf(nn::LoopOp op);

/// If `part` is a body: what it returns lies as the arguments that it becomes,
/// and all of it is on the grid of these.
mlir::LogicalResult verifyBody(mlir::func::FuncOp part);

} // namespace divisi::verify

#endif // DIVISI_LIB_VERIFY_LOOPS_H
