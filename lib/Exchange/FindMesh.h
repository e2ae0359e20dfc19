//===- FindMesh.h - The mesh behind shardings -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_EXCHANGE_FINDMESH_H
#define DIVISI_LIB_EXCHANGE_FINDMESH_H

#include "CheckSharding.h"
#include "divisi/Layout/Grid.h"

namespace divisi {

/// By factor of all dimensions, the axes of `grid` over which it is sharded,
/// outermost first; nothing where these are no axes of it.
std::optional<std::vector<std::vector<AxisId>>>
axesOf(const ResolvedSharding &sharding, const Grid &grid);

/// The grid of fewest axes of `devices` positions, device by device, that has
/// all of `shardings`; nothing if there is none of up to four axes.
std::optional<Grid> findMesh(int64_t devices,
                             const std::vector<ResolvedSharding> &shardings);

} // namespace divisi

#endif // DIVISI_LIB_EXCHANGE_FINDMESH_H
