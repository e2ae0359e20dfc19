//===- Group.h - All devices of a machine, for tests ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_COST_GROUP_H
#define DIVISI_TEST_COST_GROUP_H

#include "lib/Cost/Collectives.h"
#include "test/Cost/Links.h"

namespace divisi::test {

/// A grid of one axis over all of a cluster.
struct Group {
  explicit Group(Cluster machine)
      : cluster(std::move(machine)),
        links(cluster, Grid({{"x", cluster.numDevices()}})),
        reach(links.reach({AxisId{0}})) {}
  double time(Collective collective, double bytes) const {
    return collectiveNanoseconds(collective, bytes, reach, cluster.levels);
  }

  Cluster cluster;
  GridLinks links;
  Reach reach;
};

} // namespace divisi::test

#endif // DIVISI_TEST_COST_GROUP_H
