//===- StageGrids.h - Which devices stages have -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage has devices of one kind that stand behind each other. Stages of
// unequal sizes stand such that a stage which a machine could hold is on one:
//
//   machines of 4 devices, stages of 3, 4 and 1:    1 1 1 1 0 0 0 2
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_STAGEGRIDS_H
#define DIVISI_LIB_PLAN_STAGEGRIDS_H

#include "dialects/SPMD/SPMD.h"
#include "divisi/Cluster/Cluster.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace divisi::plan {

/// Devices of one kind that stand behind each other.
struct DeviceRun {
  int64_t begin = 0;  ///< The first.
  int64_t length = 0; ///< How many.
};

/// All of `cluster`, in order.
std::vector<DeviceRun> runsOf(const Cluster &cluster);

/// Where stages of `sizes` begin, which `run` has devices for: equal ones in
/// their order, each behind the one before.
std::vector<int64_t> beginsIn(const DeviceRun &run,
                              llvm::ArrayRef<int64_t> sizes,
                              const Cluster &cluster);

/// Adds `grid`, be it another module's, to `module` as `name`, on as many
/// devices from `begin` on, behind its other grids.
spmd::GridOp gridAt(mlir::ModuleOp module, spmd::GridOp grid, int64_t begin,
                    const llvm::Twine &name);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_STAGEGRIDS_H
