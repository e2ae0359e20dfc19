//===- DeviceGrid.h - Devices along axes, for planning ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grid a plan is made for. Its axes are as fine as the number of devices
// factors, so that 12 heads can use 4 of 8 devices, but no more than keeps the
// strategies of an operator few: neighbours are merged beyond that.
//
//   8 devices                          (x0=2, x1=2, x2=2)
//   16 devices, tensor parallel 8      (d0=2, m0=4, m1=2)
//   --mesh data=2,model=4              (data=2, model=4)
//
// Model axes stand innermost, where links are fast.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_DEVICEGRID_H
#define DIVISI_CLUSTER_DEVICEGRID_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Layout/Grid.h"

namespace divisi {

/// What an axis may be used for: data axes split only loops that the batch
/// reaches, model axes only others.
enum class AxisRole : uint8_t { Any, Data, Model };

/// What a user asks of a grid.
struct GridRequest {
  std::optional<int64_t> devices; ///< All of the cluster if not said.
  /// `2x4`, or named: `data=2,model=4`, whose axes called data and model have
  /// those roles. Empty: factors of `devices`.
  std::string mesh;
  /// With one of them the other takes the rest.
  std::optional<int64_t> dataParallel, tensorParallel;
  /// Neighbouring factors are merged beyond that many axes.
  unsigned maxAxes = 3;
};

/// A grid for planning.
struct DeviceGrid {
  Grid grid;                            ///< Position p is device p.
  llvm::SmallVector<AxisRole, 4> roles; ///< One per axis.
  LinkCosts links;
};

/// The grid that `request` asks for. Returns nothing and sets `error` if it
/// contradicts itself or the cluster.
std::optional<DeviceGrid>
gridFor(const Cluster &cluster, const GridRequest &request, std::string &error);

/// The costs of links of `grid`, whose position p is device `devices[p]` (p
/// itself if there are none).
LinkCosts linkCosts(const Cluster &cluster, const Grid &grid,
                    llvm::ArrayRef<int64_t> devices = {});

/// The prime factors of `number` >= 1, ascending.
llvm::SmallVector<int64_t, 4> primeFactors(int64_t number);

} // namespace divisi

#endif // DIVISI_CLUSTER_DEVICEGRID_H
