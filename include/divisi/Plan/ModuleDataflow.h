//===- ModuleDataflow.h - The dataflow of a module --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_MODULEDATAFLOW_H
#define DIVISI_PLAN_MODULEDATAFLOW_H

#include "dialects/NN/NN.h"
#include "divisi/Plan/Dataflow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace divisi::plan {

/// A dataflow, and what its parts are in the module.
struct ModuleDataflow : Dataflow {
  std::vector<nn::LoopInterface> ops; ///< Per site.
  /// In the module's order, bodies behind the entries that run them.
  std::vector<mlir::func::FuncOp> entries;
  std::vector<nn::GlobalOp> globals; ///< Those that an entry mentions.
};

/// Reads the entry functions of `module`. `batchDim` is the dimension of the
/// arguments that is the batch. Reports what cannot be planned.
mlir::FailureOr<ModuleDataflow> readDataflow(mlir::ModuleOp module,
                                             int64_t batchDim);

} // namespace divisi::plan

#endif // DIVISI_PLAN_MODULEDATAFLOW_H
