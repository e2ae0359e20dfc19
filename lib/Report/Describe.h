//===- Describe.h - How a report names what it speaks of --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_DESCRIBE_H
#define DIVISI_LIB_REPORT_DESCRIBE_H

#include "divisi/Report/Report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// The names of `op`: operator, ONNX node, module scope. The same before and
/// after the stages.
ReportRow describe(mlir::Operation &op);

/// The entry for which `op` runs, also where a body has it.
std::string entryOf(mlir::Operation *op);

/// The model's name for an argument of `entry`, or `input0`.
std::string argumentName(mlir::func::FuncOp entry, unsigned index);
/// The model's name for a result of `entry`, or `output0`.
std::string resultName(mlir::func::FuncOp entry, unsigned index);

} // namespace divisi

#endif // DIVISI_LIB_REPORT_DESCRIBE_H
