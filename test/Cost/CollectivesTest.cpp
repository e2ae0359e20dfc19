//===- CollectivesTest.cpp - Prices of collectives ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Collectives.h"

#include "test/Cost/Links.h"

#include "gtest/gtest.h"

using namespace divisi;
using namespace divisi::test;

namespace {
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
} // namespace

static Cluster h100(int64_t devices) {
  Cluster cluster = *presetCluster("dgx-h100", devices);
  for (LinkLevel &level : cluster.levels) {
    level.latencyNanoseconds = 0;
  }
  return cluster;
}

// What NCCL's own table gives, in microseconds.
TEST(CollectivesTest, LatenciesAreThoseOfNccl) {
  Group node(h100(8)), four(h100(32));
  auto ring = [](Protocol protocol, const Group &group) {
    return ringLatency(Collective::AllReduce, protocol, group.reach,
                       group.cluster.levels);
  };
  auto tree = [](Protocol protocol, const Group &group) {
    return treeLatency(protocol, group.reach, group.cluster.levels);
  };
  EXPECT_NEAR(ring(Protocol::LL, node), 15.0e3, 1);
  EXPECT_NEAR(ring(Protocol::LL128, node), 40.6e3, 1);
  EXPECT_NEAR(ring(Protocol::Simple, node), 56.0e3, 1);
  EXPECT_NEAR(tree(Protocol::LL, node), 15.2e3, 1);
  EXPECT_NEAR(tree(Protocol::LL128, node), 31.5e3, 1);
  EXPECT_NEAR(tree(Protocol::Simple, node), 64.4e3, 1);
  EXPECT_NEAR(ring(Protocol::LL, four), 78.8e3, 1);
  EXPECT_NEAR(ring(Protocol::Simple, four), 282.8e3, 1);
  EXPECT_NEAR(tree(Protocol::LL, four), 35.2e3, 1);
  EXPECT_NEAR(tree(Protocol::Simple, four), 120.4e3, 1);
}

// busbw of 8 H200 at 16 GiB: the ring 367, gathers 361, in the switch 480 GB/s.
TEST(CollectivesTest, LargeTensorsAreAsFastAsMeasured) {
  Group node(h100(8));
  double bytes = double(int64_t(16) << 30);
  double gather = 7.0 / 8 * bytes / node.time(Collective::AllGather, bytes);
  EXPECT_NEAR(gather, 361.4, 0.03 * 361.4);
  double reduce = 2 * 7.0 / 8 * bytes / node.time(Collective::AllReduce, bytes);
  EXPECT_NEAR(reduce, 480, 0.03 * 480);
  Group few(h100(4));
  double ring = 2 * 3.0 / 4 * bytes / few.time(Collective::AllReduce, bytes);
  EXPECT_NEAR(ring, 367.2, 0.03 * 367.2);
}

TEST(CollectivesTest, AlphaBetaHasItsClosedForms) {
  Group eight(machineOf({{8, 1e9}}));
  EXPECT_DOUBLE_EQ(eight.time(Collective::AllGather, 8e6), 3e3 + 7e6);
  EXPECT_DOUBLE_EQ(eight.time(Collective::ReduceScatter, 8e6), 3e3 + 7e6);
  EXPECT_DOUBLE_EQ(eight.time(Collective::AllReduce, 8e6), 6e3 + 14e6);
  EXPECT_DOUBLE_EQ(eight.time(Collective::AllToAll, 8e6), 7e3 + 7e6);
}

TEST(CollectivesTest, LevelByLevelIsTakenWhereItIsCheaper) {
  // Within nodes of 4 ten times faster than between 2.
  Group group(machineOf({{4, 1e10}, {2, 1e9}}));
  double bytes = 8e6;
  // Scattered in 0.6 ms, a quarter summed in 2 ms, gathered in 0.6 ms; four
  // rounds within and two between.
  EXPECT_NEAR(group.time(Collective::AllReduce, bytes), 3.2e6 + 6e3, 1);
}

TEST(CollectivesTest, MoreMembersTakeNoLess) {
  for (Collective collective : {Collective::AllReduce, Collective::AllGather,
                                Collective::ReduceScatter}) {
    for (double bytes : {1e3, 1e5, 1e7, 1e9}) {
      double before = 0;
      for (int64_t devices : {2, 4, 8, 16, 32, 64}) {
        double time = Group(h100(devices)).time(collective, bytes);
        // Switches help from five members on.
        EXPECT_GE(time, devices == 8 ? 0 : before) << devices << " " << bytes;
        before = time;
      }
    }
  }
}
