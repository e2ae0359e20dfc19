//===- PlanLayouts.h - Strategies and layouts of a plan ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan says, before anything follows from it: no collectives, no times.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REPORT_PLANLAYOUTS_H
#define DIVISI_REPORT_PLANLAYOUTS_H

#include "divisi/Report/Report.h"

namespace divisi {

/// Of `planned`, a module at Stage::Plan that its verifier accepts:
///
///   {"schema_version": 2,
///    "grids": [{"name": "g", "axes": "(x=2)", "devices": [0, 1]}],
///    "operators": [{"entry", "layer", "node", "op", "grid": "g",
///                   "split": "m@x", "loops": {"m": 8, "n": 4, "k": 32},
///                   "operands": ["[x, *]", "[*, *]"], "results": ["[x, *]"]}],
///    "tensors": [{"name", "kind", "shape", "grid", "layout", "entry"}]}
///
/// `operators` are those of that name (operatorsNamed), all if it is empty.
/// Layouts of operands are what the operator wants: a conversion leads there.
/// ExitCode::Usage where no operator has the name.
Expected<llvm::json::Value> planLayouts(mlir::ModuleOp planned,
                                        llvm::StringRef operators);

} // namespace divisi

#endif // DIVISI_REPORT_PLANLAYOUTS_H
