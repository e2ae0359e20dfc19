//===- DeviceGrid.h - Devices along axes, for planning ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grids a plan may be made for. An axis lies within one level of links, and
// crosses levels only if the number of devices permits nothing else. Axes are
// as fine as that number factors, so that 12 heads can use 4 of 8 devices, but
// no more than keeps the strategies of an operator few. Where that leaves a
// choice, all are candidates, but for those of which another is a refinement:
// every split on (x=8) exists on (x=4, y=2).
//
//   8 devices                          (x0=2, x1=2, x2=2)
//   12 devices                         (x0=3, x1=2, x2=2), (x0=2, x1=3, x2=2),
//   … 8 nodes of 8, three axes           (x0=8, x1=4, x2=2), (x0=4, x1=2, x2=8)
//   2 nodes of 8, tensor parallel 8    (d0=2, m0=4, m1=2)
//   --mesh data=2,model=4              (data=2, model=4)
//   4 a100 and 4 v100                  and (x0=2:[18,7], x1=2, x2=2)
//
// Model axes are innermost, where links are fast. A plan may leave devices
// idle: 7 devices are also 6, which factor. Where devices are of several kinds,
// those to leave idle are chosen in several ways: the last, those of some kinds
// first, as many of each kind. Each grid also comes with weights, by their
// rates and by their memories, along an axis of which each position is of one
// kind.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_DEVICEGRID_H
#define DIVISI_CLUSTER_DEVICEGRID_H

#include "divisi/Cluster/GridLinks.h"
#include "divisi/Cluster/GridPace.h"

#include <optional>
#include <vector>

namespace divisi {

/// What an axis may be used for: data axes split the batch of operators that it
/// reaches, and anything of others; model axes only loops that it does not
/// reach.
enum class AxisRole : uint8_t { Any, Data, Model };

/// How many axes grids have at most, if nobody says. Plans of operators with
/// many loops may settle for fewer.
inline constexpr int64_t kMostAxes = 4;

/// What a user asks of a grid.
struct GridRequest {
  std::optional<int64_t> devices; ///< All of the cluster if not said.
  /// `2x4`, or named: `data=2,model=4`, whose axes called data and model have
  /// those roles. Weights follow a size: `data=2:[3,1]`. Empty: factors of
  /// `devices`.
  std::string mesh;
  /// With one of them the other takes the rest.
  std::optional<int64_t> dataParallel, tensorParallel;
  /// No grid has more axes, unless levels and roles ask for them; kMostAxes if
  /// not said.
  std::optional<int64_t> maxAxes;
};

/// A grid for planning.
struct DeviceGrid {
  Grid grid;                            ///< As plans name it.
  llvm::SmallVector<AxisRole, 4> roles; ///< One per axis.
  /// Per position; empty: position p is device p.
  llvm::SmallVector<int64_t, 8> devices;
  GridLinks links;
  /// It wins seldom: its factors are in another order, or its number of devices
  /// is neither that asked for nor one that factors well.
  bool isMore = false;
};

/// How many positions `mesh` has (GridRequest::mesh); nothing if it is none.
std::optional<int64_t> meshPositions(llvm::StringRef mesh);
/// Its axes.
std::optional<Grid> meshGrid(llvm::StringRef mesh);
/// `data=2,model=4`: the mesh (GridRequest::mesh) that `grid` is.
std::string meshText(const Grid &grid);

/// The grids that `request` leaves, those of most devices first; a mesh is the
/// only one. Weights are by the rates in `precision`. `withMore`: also those
/// that DeviceGrid::isMore tells of, of up to 64 devices of one kind.
/// ExitCode::Usage if `request` contradicts itself or the cluster.
Expected<std::vector<DeviceGrid>>
candidateGrids(const Cluster &cluster, const GridRequest &request,
               Precision precision = Precision::F32, bool withMore = false);

/// ExitCode::Usage: `cluster` has not so many devices.
Status noSuchNumber(int64_t devices, const Cluster &cluster);

/// Whether there are grids like those of DeviceGrid::isMore that candidateGrids
/// does not list, even `withMore`: in other orders, on other numbers of
/// devices, or with other weights, of more than 64 devices or several kinds.
/// `request` is one that candidateGrids accepts.
bool leavesUnlisted(const Cluster &cluster, const GridRequest &request);

/// The prime factors of `number` >= 1, ascending.
llvm::SmallVector<int64_t, 4> primeFactors(int64_t number);

} // namespace divisi

#endif // DIVISI_CLUSTER_DEVICEGRID_H
