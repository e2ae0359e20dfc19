//===- Pipe.h - The dialect of when stages run what -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything of the `pipe` dialect: its attributes, read and written as the
// data of Stages/PipelineSchedule.h.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_PIPE_PIPE_H
#define DIVISI_DIALECTS_PIPE_PIPE_H

#include "divisi/Stages/PipelineSchedule.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "dialects/Pipe/PipeDialect.h.inc"

namespace divisi::pipe {

/// The step that `op` belongs to; nothing if it belongs to none.
std::optional<PipelineStep> getStep(mlir::Operation *op);
/// Lets `op` belong to `step`, which is no whole backward step.
void setStep(mlir::Operation *op, const PipelineStep &step);

/// The order of the steps of `function`; nothing if it has none.
std::optional<PipelineSchedule> getSchedule(mlir::FunctionOpInterface function);
/// Gives it one, which is right.
void setSchedule(mlir::FunctionOpInterface function,
                 const PipelineSchedule &schedule);

//===----------------------------------------------------------------------===//
// Micro-batches of which the first one is there
//===----------------------------------------------------------------------===//

/// How many micro-batches a call of `function` takes, where the operators of
/// one stand for those of all; nothing if all are there.
std::optional<int64_t> getFoldedBatches(mlir::FunctionOpInterface function);
/// Lets the operators of one stand for those of `count`, at least 1.
void setFoldedBatches(mlir::FunctionOpInterface function, int64_t count);
/// How often `op`, of an entry, runs in a call: once per micro-batch that it
/// stands for.
int64_t timesPerCall(mlir::Operation *op);

/// A value that a micro-batch gives and the next one takes.
struct CarriedValue {
  unsigned index = 0;  ///< Of the operand or the result.
  unsigned number = 0; ///< The same for who gives it and who takes it.
};
/// The operands of `op` that are carried.
llvm::SmallVector<CarriedValue> getTakes(mlir::Operation *op);
/// Whether operand `number` of `op` is one of them.
bool takes(mlir::Operation *op, unsigned number);
/// Sets them.
void setTakes(mlir::Operation *op, llvm::ArrayRef<CarriedValue> values);
/// The results of `op` that are carried.
llvm::SmallVector<CarriedValue> getGives(mlir::Operation *op);
/// Sets them.
void setGives(mlir::Operation *op, llvm::ArrayRef<CarriedValue> values);

} // namespace divisi::pipe

#endif // DIVISI_DIALECTS_PIPE_PIPE_H
