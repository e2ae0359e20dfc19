//===- WantedSites.h - Strategies with wanted layouts -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_WANTEDSITES_H
#define DIVISI_LIB_PLAN_WANTEDSITES_H

#include "divisi/Cluster/DeviceGrid.h"
#include "divisi/Plan/ModuleDataflow.h"
#include "divisi/Support/Status.h"

namespace divisi::plan {

/// Sets Site::wanted where `module` says something of an operator's tensors
/// (WantedLayouts.h) in factors that it has as dimensions. Sites of which
/// something else is said are of another kind.
void readWanted(mlir::ModuleOp module, ModuleDataflow &dataflow);

/// Whether `site` has all layouts that are wanted of it under `split`. An axis
/// that `grid` does not have is not wanted.
bool hasWanted(const Site &site, const Grid &grid, const Split &split);

/// All splits of `site` on `grid` that have them; the replicated one if none
/// does. Never empty.
std::vector<Split> wantedSplits(const Site &site, const Grid &grid);

/// Lets the readers of results bring them to where these are wanted, where no
/// strategy on one of `grids` leaves them there. ExitCode::Invalid where none
/// has the operands as they are wanted.
Status checkWanted(ModuleDataflow &dataflow,
                   const std::vector<DeviceGrid> &grids);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_WANTEDSITES_H
