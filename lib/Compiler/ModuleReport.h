//===- ModuleReport.h - A module's machine and report -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_MODULEREPORT_H
#define DIVISI_LIB_COMPILER_MODULEREPORT_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Report/Report.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace mlir {
class Pass;
} // namespace mlir

namespace divisi {

/// On the module: the model's file, and the plan's report as JSON.
inline constexpr llvm::StringLiteral kModelAttr = "divisi.model";
inline constexpr llvm::StringLiteral kReportAttr = "divisi.report";

/// The machine that `module` is or will be planned for: that of `spec` (as
/// findCluster), else as getCluster.
Expected<Cluster> clusterOf(mlir::ModuleOp module, const std::string &spec);

/// What the plan of `module`, which is partitioned, does on `machine`.
Expected<Report> reportOf(mlir::ModuleOp module, const Cluster &machine);

/// Notes `report` on `module`: later stages change what it is made of.
void noteReport(mlir::ModuleOp module, const Report &report);

/// Makes the pass that notes who has edited the plan, before it is partitioned.
std::unique_ptr<mlir::Pass> createNotePlanEdits();
/// Makes the pass that notes the report of a module that is partitioned.
std::unique_ptr<mlir::Pass> createNoteReport();

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_MODULEREPORT_H
