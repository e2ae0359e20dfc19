//===- PlanUnequal.h - Stages of unequal numbers of devices -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program is planned once for each number of devices that stages have, and
// each stage takes its strategies from the plan of its size:
//
//   --stage-devices 2,1       plan for 2    h0 h1 h2 h3 h4 h5     h0 to h3
//                             plan for 1    h0 h1 h2 h3 h4 h5     h4, h5
//
// What a training step computes again is decided for the largest stage, and is
// part of the program that is planned for the others. Each plan may use of the
// memory of all stages what its devices are of all; if stages then hold too
// much, it is planned again with less.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PLANUNEQUAL_H
#define DIVISI_LIB_PLAN_PLANUNEQUAL_H

#include "divisi/Plan/PlanModule.h"

namespace divisi::plan {

/// As planModule, of stages as `options` say (PlanOptions::stageDevices).
Expected<PlanReport> planUnequal(mlir::ModuleOp module,
                                 const PlanOptions &options);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PLANUNEQUAL_H
