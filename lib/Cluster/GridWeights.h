//===- GridWeights.h - Larger shards for faster devices ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CLUSTER_GRIDWEIGHTS_H
#define DIVISI_LIB_CLUSTER_GRIDWEIGHTS_H

#include "divisi/Cluster/DeviceGrid.h"

namespace divisi {

/// After each of `grids` whose devices are of several kinds, the same with
/// weights, by the rates in `precision` and by memory, along one axis of which
/// each position is of one kind. As few of the outermost axes become one as it
/// takes for that. Nothing where no axis has kinds apart, or all are equally
/// fast.
void addWeighted(const Cluster &cluster, Precision precision,
                 std::vector<DeviceGrid> &grids);

} // namespace divisi

#endif // DIVISI_LIB_CLUSTER_GRIDWEIGHTS_H
