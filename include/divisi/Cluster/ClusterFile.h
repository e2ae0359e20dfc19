//===- ClusterFile.h - Clusters as YAML -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   name: two-nodes
//   devices:
//     - count: 16
//       kind: h100
//       peak_flops_per_second: {f32: 6.7e13, bf16: 9.89e14}
//       memory_bytes_per_second: 3.0e12
//       memory_bytes: 78000000000
//       multiprocessors: 132
//       tile_edge: 128
//       compute_capability: 90
//   levels:
//     - {name: nvlink, fanout: 8, transport: nvlink, bytes_per_second: 3.7e11}
//     - {name: ib, fanout: 2, transport: network, bytes_per_second: 4.5e10,
//        measured: [{collective: all_reduce, members: 16, bytes: 1048576,
//                    bus_bytes_per_second: 1.2e10}]}
//
// ClusterFields.h has all names.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_CLUSTERFILE_H
#define DIVISI_CLUSTER_CLUSTERFILE_H

#include "divisi/Cluster/Cluster.h"

namespace divisi {

/// Reads YAML. ExitCode::Invalid, with the line, for what is no cluster.
Expected<Cluster> parseClusterYAML(llvm::StringRef text);

/// Writes all fields, so that parseClusterYAML makes an equal cluster of it.
void printClusterYAML(const Cluster &cluster, llvm::raw_ostream &os);

/// The cluster that a user means: a preset and a number of devices, `cpu:4`, or
/// the path of a file. ExitCode::Usage for neither, ExitCode::File for a file
/// that cannot be read, ExitCode::Invalid for its content.
Expected<Cluster> findCluster(llvm::StringRef spec);

} // namespace divisi

#endif // DIVISI_CLUSTER_CLUSTERFILE_H
