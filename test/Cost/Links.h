//===- Links.h - Links of simple machines, for tests ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_COST_LINKS_H
#define DIVISI_TEST_COST_LINKS_H

#include "divisi/Cluster/GridLinks.h"

namespace divisi::test {

/// A machine whose levels are joined through memory, innermost first: fan-out,
/// bytes per second. A message takes 1 us, memory moves 100 GB/s.
inline Cluster machineOf(llvm::ArrayRef<std::pair<int64_t, double>> levels) {
  Cluster cluster;
  cluster.name = "test";
  int64_t devices = 1;
  for (auto [fanout, rate] : levels) {
    cluster.levels.push_back({.name = "l" + std::to_string(devices),
                              .fanout = fanout,
                              .latencyNanoseconds = 1000,
                              .bytesPerSecond = rate});
    devices *= fanout;
  }
  cluster.devices = {{devices,
                      {.name = "d",
                       .peaks = {.f32 = 1e12},
                       .memoryBytesPerSecond = 1e11,
                       .memoryBytes = 1 << 30}}};
  return cluster;
}

/// All devices of `grid` joined alike: a byte takes a nanosecond.
inline GridLinks uniformLinks(const Grid &grid) {
  return GridLinks(machineOf({{grid.numPositions(), 1e9}}), grid);
}

} // namespace divisi::test

#endif // DIVISI_TEST_COST_LINKS_H
