//===- Placement.h - Where devices of a grid stand --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CLUSTER_PLACEMENT_H
#define DIVISI_LIB_CLUSTER_PLACEMENT_H

#include "divisi/Cluster/Cluster.h"

#include <optional>
#include <vector>

namespace divisi {

/// Equally many devices of equally many units, level by level.
struct Placement {
  llvm::SmallVector<int64_t, 2> counts; ///< Per level, innermost first.
  /// At every position of a grid whose axes follow `counts`, the outermost
  /// level first.
  llvm::SmallVector<int64_t, 8> devices;

  /// Whether a grid on this one can do whatever one on `other` can, were all
  /// devices alike.
  bool contains(const Placement &other) const;
};

/// Devices of a cluster, those first that are to be taken first.
using DevicePool = std::vector<int64_t>;

/// What plans may take devices from: all, in their order. Where there are
/// kinds, also all in other orders and by turns, and some kinds alone.
std::vector<DevicePool> devicePools(const Cluster &cluster);

/// `devices` of `pool`, as many in each innermost unit as goes; `model` of
/// them, if not 1, are to be near each other. Nothing if their number does not
/// divide like that.
std::optional<Placement> placeEvenly(const Cluster &cluster,
                                     const DevicePool &pool, int64_t devices,
                                     int64_t model);

/// All ways to write `number` as `parts` factors of at least 2, each the
/// largest first; () for 1 and no parts.
std::vector<llvm::SmallVector<int64_t, 4>> factorizations(int64_t number,
                                                          size_t parts);

/// The numbers of devices to look at where there are `devices`: all up to 16,
/// those of factors 2 and 3 beyond. Descending, `devices` first.
llvm::SmallVector<int64_t, 16> deviceCounts(int64_t devices);

} // namespace divisi

#endif // DIVISI_LIB_CLUSTER_PLACEMENT_H
