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

} // namespace divisi::pipe

#endif // DIVISI_DIALECTS_PIPE_PIPE_H
