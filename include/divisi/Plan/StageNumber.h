//===- StageNumber.h - How many stages are best -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_STAGENUMBER_H
#define DIVISI_PLAN_STAGENUMBER_H

#include "divisi/Plan/PlanModule.h"

namespace divisi {

/// How many stages, each of any number of the devices, are best for `module` by
/// what plans for these numbers take: from two up to `most`, but for those in
/// `leftOut`. Nothing if all are left out, or none can be. What the dynamic
/// program of Stages/StagePlanner.h says, over numbers and sizes at once, with
/// plans for those sizes alone that are in its answer (lib/Plan/StageSizes.h).
Expected<std::optional<int64_t>>
bestStageNumber(mlir::ModuleOp module, const PlanOptions &options, int64_t most,
                llvm::ArrayRef<size_t> leftOut);

} // namespace divisi

#endif // DIVISI_PLAN_STAGENUMBER_H
