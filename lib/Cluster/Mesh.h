//===- Mesh.h - The grid that a user names ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CLUSTER_MESH_H
#define DIVISI_LIB_CLUSTER_MESH_H

#include "divisi/Cluster/DeviceGrid.h"

namespace divisi {

/// The mesh that a user names; degrees of parallelism have to agree with the
/// roles of its axes.
Expected<DeviceGrid> meshGrid(const Cluster &cluster,
                              const GridRequest &request);

} // namespace divisi

#endif // DIVISI_LIB_CLUSTER_MESH_H
