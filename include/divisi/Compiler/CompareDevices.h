//===- CompareDevices.h - The same model on fewer devices -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan that was forced (by degrees of parallelism, a mesh, strategies that
// were given) may be slower than one on fewer devices. Reports on a plan say
// so.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_COMPAREDEVICES_H
#define DIVISI_COMPILER_COMPAREDEVICES_H

#include "divisi/Plan/PlanModule.h"
#include "divisi/Report/Report.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace divisi {

/// The best plans on fewer devices, and what finding them took.
struct DeviceComparison {
  std::vector<ReportComparison> plans; ///< Most devices first.
  int64_t work = 0;                    ///< Matrix entries looked at.
  /// Data, tensor and, of training, fully sharded data parallelism alone, each
  /// of the degree that the plan has devices; none of one device.
  std::vector<ReportComparison> ofOneKind;
};

/// `devices` divided by its smallest factors, down to 1; a few at most.
std::vector<int64_t> fewerDevices(int64_t devices);

/// Plans `module`, which has been imported or planned and is left as it is, on
/// each of fewerDevices(devices) of the cluster of `options`, and by one kind of
/// parallelism on all; other devices, meshes, degrees and strategies are not
/// regarded. The work is bounded and
/// does not depend on time. Fails as planModule, but for plans that do not fit.
Expected<DeviceComparison> compareDevices(mlir::ModuleOp module,
                                          const PlanOptions &options,
                                          int64_t devices);

/// Adds that comparison to `report`, of the plan in `planned` that was made
/// with the options `asked`. What the plan itself was asked for, its record
/// tells, if it was made before.
Status addComparison(mlir::ModuleOp planned, const PlanOptions &asked,
                     Report &report);

} // namespace divisi

#endif // DIVISI_COMPILER_COMPAREDEVICES_H
