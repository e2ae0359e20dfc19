//===- Dataflow.h - A module as the planner sees it -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators with their loops, and tensors with where they come from and who
// wants them, in program order over all entry functions: positions in that
// order are the times of the planning problem.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_DATAFLOW_H
#define DIVISI_PLAN_DATAFLOW_H

#include "dialects/NN/NN.h"
#include "divisi/Cost/OpCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace divisi::plan {

/// An operator to be planned.
struct Site {
  nn::LoopInterface op; ///< The operator itself.
  LoopNest nest;        ///< Its loops.
  OpProfile profile;
  llvm::SmallVector<bool, 6> batch; ///< Per loop: does the batch reach it?
  /// Per operand: is it made from parameters and constants alone?
  llvm::SmallVector<bool, 3> parameters;
  int64_t time = 0; ///< When it runs.
};

/// Somebody who wants a tensor.
struct Consumer {
  /// An operator, the end of an entry, or what replaces a global.
  enum class Kind : uint8_t { Operand, Output, Update };
  Kind kind = Kind::Operand; ///< What `index` counts.
  unsigned index = 0;   ///< Of the site, the output, or the updated tensor.
  unsigned operand = 0; ///< Of the site.
  int64_t time = 0;
};

/// A tensor: made by a site, given as an argument, or a global.
struct DataflowValue {
  /// Where it comes from.
  enum class Kind : uint8_t { Result, Argument, Global };
  Kind kind = Kind::Result; ///< What `index` counts.
  unsigned index = 0;       ///< Of the site, the entry or the global.
  unsigned number = 0;      ///< Of the result or argument.
  mlir::RankedTensorType type;
  int64_t begin = 0, end = 0; ///< The times at which it is needed.
  std::vector<Consumer> consumers;
};

/// A result of an entry function.
struct Output {
  unsigned entry = 0;  ///< In Dataflow::entries.
  unsigned number = 0; ///< Of the function's result.
  unsigned tensor = 0; ///< In Dataflow::values.
  int64_t time = 0;    ///< When the entry returns.
};

/// All entry functions of a module, one after the other.
struct Dataflow {
  std::vector<mlir::func::FuncOp> entries; ///< In the module's order.
  std::vector<nn::GlobalOp> globals;       ///< Those that an entry mentions.
  std::vector<Site> sites;
  std::vector<DataflowValue> values;
  std::vector<Output> outputs;
  int64_t time = 0; ///< The end of the last entry.
};

/// Reads the entry functions of `module`. `batchDim` is the dimension of the
/// arguments that is the batch. Reports what cannot be planned.
mlir::FailureOr<Dataflow> readDataflow(mlir::ModuleOp module, int64_t batchDim);

} // namespace divisi::plan

#endif // DIVISI_PLAN_DATAFLOW_H
