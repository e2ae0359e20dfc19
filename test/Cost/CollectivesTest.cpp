//===- CollectivesTest.cpp - Prices of collectives ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/Collectives.h"

#include "test/Cost/Group.h"

#include "gtest/gtest.h"

using namespace divisi;
using namespace divisi::test;

/// As NCCL's model has it: with no latency of its own, and nothing measured.
static Cluster h100(int64_t devices) {
  Cluster cluster = *presetCluster("dgx-h100", devices);
  for (LinkLevel &level : cluster.levels) {
    level.latencyNanoseconds = 0;
    level.measured.clear();
  }
  return cluster;
}

static constexpr double MiB = 1 << 20;

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
  // Once through: 7 hops, or 28 and 3.
  auto gather = [](Protocol protocol, const Group &group) {
    return ringLatency(Collective::AllGather, protocol, group.reach,
                       group.cluster.levels);
  };
  EXPECT_NEAR(gather(Protocol::LL, node), 10.8e3, 1);
  EXPECT_NEAR(gather(Protocol::LL128, node), 27.3e3, 1);
  EXPECT_NEAR(gather(Protocol::LL, four), 42.7e3, 1);
}

// What NCCL counts for one link, times the links of a device.
TEST(CollectivesTest, RingsOfPresetsHaveTheRatesOfNccl) {
  auto ring = [](llvm::StringRef preset) {
    return presetCluster(preset, 8)->levels.front().bytesPerSecond / 1e9;
  };
  EXPECT_NEAR(ring("dgx-v100"), 6 * 20, 1.2);
  EXPECT_NEAR(ring("dgx-a100"), 12 * 20, 2.4);
  EXPECT_NEAR(ring("dgx-h100"), 18 * 20.6, 3.7);
  EXPECT_NEAR(ring("dgx-h200"), 18 * 20.6, 3.7);
  EXPECT_NEAR(ring("dgx-b200"), 18 * 40.1, 7.2);
}

// Rings with flags up to 1 MiB, the switch from 2 MiB on: 25 us and the bytes.
TEST(CollectivesTest, TheSwitchSumsFromTwoMebibytesOn) {
  Group node(h100(8));
  auto ring = [](double bytes) { return 15.0e3 + 1.75 * bytes / 141; };
  auto switched = [](double bytes) { return 25.0e3 + bytes / 274; };
  EXPECT_NEAR(node.time(Collective::AllReduce, MiB), ring(MiB), 1);
  EXPECT_LT(ring(MiB), switched(MiB));
  EXPECT_NEAR(node.time(Collective::AllReduce, 2 * MiB), switched(2 * MiB), 1);
  EXPECT_LT(switched(2 * MiB), ring(2 * MiB));
  // Four or fewer have no use for it.
  Group four(h100(4));
  EXPECT_GT(four.time(Collective::AllReduce, 1024 * MiB),
            1.4 * 1024 * MiB / 371);
}

// Of 4 GiB over 4 nodes of 8 B200: 10.4 ms within nodes, 16.1 ms between them,
// together 22.0 ms.
TEST(CollectivesTest, PhasesWithinNodesHideBehindThoseBetweenThem) {
  Cluster cluster = *presetCluster("dgx-b200", 32);
  cluster.levels[0].bytesPerSecond = 721.8e9;
  cluster.levels[0].switchBytesPerSecond = 0;
  cluster.levels[1].bytesPerSecond = 50e9;
  Group group(cluster);
  double bytes = 4096 * MiB;
  Reach node = group.reach, nodes = group.reach;
  node.members = 8;
  node.fanouts[1] = 1;
  nodes.members = 4;
  nodes.fanouts[0] = 1;
  auto model = [&](Collective collective, double moved, const Reach &reach) {
    return modelNanoseconds(collective, moved, reach, cluster.levels) / 1e6;
  };
  double within = model(Collective::ReduceScatter, bytes, node) +
                  model(Collective::AllGather, bytes, node);
  double between = model(Collective::AllReduce, bytes / 8, nodes);
  EXPECT_NEAR(within, 10.4, 0.104);
  EXPECT_NEAR(between, 16.1, 0.161);
  double together = nestedNanoseconds(Collective::AllReduce, bytes, group.reach,
                                      cluster.levels) /
                    1e6;
  EXPECT_NEAR(together, 22.0, 0.22);
  // What is short does not fill a pipeline: only latencies are left.
  double start =
      nestedNanoseconds(Collective::AllReduce, 0, group.reach, cluster.levels) /
      1e6;
  EXPECT_NEAR(start,
              2 * model(Collective::AllGather, 0, node) +
                  model(Collective::AllReduce, 0, nodes),
              1e-6);
}

// Seven links of 44.7 GB/s: two devices have one between them, and of a group
// each has one to every other.
TEST(CollectivesTest, PeersWithLinksOfTheirOwnShareNone) {
  Group two(*presetCluster("mi300x", 2)), four(*presetCluster("mi300x", 4)),
      eight(*presetCluster("mi300x", 8));
  double bytes = 16384 * MiB, link = 313.0 / 7;
  auto rate = [&](const Group &group, double members) {
    return (members - 1) / members * bytes /
           group.time(Collective::AllGather, bytes);
  };
  EXPECT_NEAR(rate(two, 2), link, 0.01 * link);
  EXPECT_NEAR(rate(four, 4), 3 * link, 0.03 * link);
  EXPECT_NEAR(rate(eight, 8), 313, 3.13);
  MessageCost cost = messageCost(eight.reach, eight.cluster.levels);
  EXPECT_NEAR(bytes / (cost.of(1, bytes) - cost.of(1, 0)), link, 0.1);
  EXPECT_NEAR(bytes / (cost.of(7, bytes) - cost.of(7, 0)), 313, 0.1);
  EXPECT_EQ(cost.of(0, 0), 0);
  // Through a switch one peer gets as much as all.
  Group switched(*presetCluster("dgx-h200", 8));
  cost = messageCost(switched.reach, switched.cluster.levels);
  EXPECT_NEAR(bytes / (cost.of(1, bytes) - cost.of(1, 0)), 396, 0.1);
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
