//===- MeasuredCluster.h - A cluster from what was measured -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The links between each two devices give the levels, and times of collectives
// the numbers of a level:
//
//   NVLink within {0, 1} and {2, 3}     level nvlink 2, level pci 2
//   an all-reduce of 8 B, of 16 MiB     latency, bytes per second
//   all of them                         measured points
//
// Nothing here measures: it is data in, a cluster out.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROFILE_MEASUREDCLUSTER_H
#define DIVISI_PROFILE_MEASUREDCLUSTER_H

#include "divisi/Cluster/Cluster.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// What joins two devices of a machine.
enum class DevicePath : uint8_t { Unknown, Memory, NvLink, Pci };

/// Levels that have no numbers yet.
struct FoundLevels {
  llvm::SmallVector<LinkLevel, 2> levels; ///< One device: none.
  std::vector<std::string> notes; ///< What is not known, or left out of it.
};

/// The levels of `count` devices; `paths` are theirs, row by row. Of paths that
/// are not known the transport stays what it is by default, `memory`, which
/// prices by latency and rate alone.
FoundLevels findLevels(llvm::ArrayRef<DevicePath> paths, int64_t count);

/// One collective, as it was timed.
struct CollectiveTime {
  Collective collective = Collective::AllReduce; ///< What was done.
  int64_t bytes = 0;                             ///< Of the whole tensor.
  double nanoseconds = 0;                        ///< What it took.
};

/// Gives `level` what follows from the times of collectives among `members`,
/// which are several of each, of ascending bytes: its measured points, its
/// rate, and, through memory, its latency (other transports have NCCL's own).
/// Without any the rate is that of one device to another; 0: nobody measured
/// that. Where a longer message took less time, other work has disturbed one of
/// them: the closest times that never fall are taken.
void fitLevel(LinkLevel &level, int64_t members,
              llvm::ArrayRef<CollectiveTime> times, double peerBytesPerSecond);

/// The four digits of a number that measurements are good for.
double fourDigits(double number);

/// What to say of a machine with `processors` that had `load` of other work, as
/// getloadavg() says, where `used` of them are measured; nothing if there were
/// enough others for it.
std::optional<std::string> noteOfLoad(double load, int64_t processors,
                                      int64_t used);

} // namespace divisi

#endif // DIVISI_PROFILE_MEASUREDCLUSTER_H
