//===- CheckTypes.h - Whether tensors are global ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_CHECKTYPES_H
#define DIVISI_LIB_PLAN_CHECKTYPES_H

#include "mlir/IR/BuiltinOps.h"

namespace divisi::plan {

/// Failure, after an error, where a tensor of `module` is a local one, which
/// Partition makes: plans say where global ones lie.
mlir::LogicalResult checkTypes(mlir::ModuleOp module);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_CHECKTYPES_H
