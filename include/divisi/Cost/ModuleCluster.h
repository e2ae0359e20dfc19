//===- ModuleCluster.h - The cluster a module was planned for ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module holds the complete cluster, as the attribute `divisi.cluster`, so
// that every later stage prices as the planner did, on any machine and whatever
// happens to the cluster's file:
//
//   divisi.cluster = {name = "cpu:4", devices = [{count = 4, kind = "cpu", …}],
//                     levels = [{name = "machine", fanout = 4, …}]}
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_MODULECLUSTER_H
#define DIVISI_COST_MODULECLUSTER_H

#include "dialects/SPMD/SPMD.h"
#include "divisi/Cluster/GridLinks.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// Where it stands.
inline constexpr llvm::StringLiteral kClusterAttr = "divisi.cluster";

/// Writes all of `cluster` to `module`.
void setCluster(mlir::ModuleOp module, const Cluster &cluster);

/// The cluster that `module` was planned for; of one that names none, as when
/// somebody wrote the plan, as many CPUs as its grids have.
/// ExitCode::Invalid for an attribute that somebody has broken.
Expected<Cluster> getCluster(mlir::ModuleOp module);

/// How the devices of `grid` are linked on `cluster`.
GridLinks linksOf(spmd::GridOp grid, const Cluster &cluster);

/// One more than the highest device of all grids of `module`; 1 without.
int64_t countDevices(mlir::ModuleOp module);

/// How many devices the grids of `module` have together; 1 without. Others
/// below countDevices are idle.
int64_t countUsedDevices(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_COST_MODULECLUSTER_H
