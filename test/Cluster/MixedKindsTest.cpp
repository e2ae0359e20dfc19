//===- MixedKindsTest.cpp - Clusters of several kinds of devices ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/ClusterFile.h"
#include "divisi/Cluster/DeviceGrid.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

using namespace divisi;

/// So many A100 and V100 in one node.
static Cluster mixedCluster(int64_t fast, int64_t slow) {
  Cluster mixed = *presetCluster("dgx-a100", fast);
  mixed.devices.push_back(presetCluster("dgx-v100", slow)->devices.front());
  mixed.levels.front().fanout = fast + slow;
  EXPECT_EQ(verifyCluster(mixed).message(), "");
  return mixed;
}

static std::string mixedGrids(const Cluster &cluster,
                              const GridRequest &request,
                              Precision precision = Precision::F32) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto result = candidateGrids(cluster, request, precision);
  EXPECT_TRUE(result) << result.status().message();
  for (const DeviceGrid &candidate : *result) {
    if (candidate.grid.numPositions() == cluster.numDevices()) {
      os << (text.empty() ? "" : " ");
      candidate.grid.print(os);
    }
  }
  return text;
}

TEST(MixedKinds, FasterKindsGetWeights) {
  // 312 * 0.869 to 125 * 0.85 is 2.55, and in f32 it is 1.27; memory 5.57.
  EXPECT_EQ(mixedGrids(mixedCluster(4, 4), {}, Precision::F16),
            "(x0=2, x1=2, x2=2) (x0=2:[18,7], x1=2, x2=2) "
            "(x0=2:[28,5], x1=2, x2=2)");
  EXPECT_EQ(mixedGrids(mixedCluster(4, 4), {}),
            "(x0=2, x1=2, x2=2) (x0=2:[14,11], x1=2, x2=2) "
            "(x0=2:[28,5], x1=2, x2=2)");
  // Two axes become one, of which each position is of one kind.
  EXPECT_EQ(mixedGrids(mixedCluster(6, 2), {}),
            "(x0=2, x1=2, x2=2) (x0=4:[14,14,14,11], x2=2) "
            "(x0=4:[28,28,28,5], x2=2)");
  EXPECT_EQ(mixedGrids(mixedCluster(2, 1), {}),
            "(x0=3) (x0=3:[14,14,11]) (x0=3:[28,28,5])");
  // Data and model axes stay apart.
  EXPECT_EQ(mixedGrids(mixedCluster(2, 2), {.tensorParallel = 2}),
            "(d0=2, m0=2) (d0=2:[14,11], m0=2) (d0=2:[28,5], m0=2)");
  EXPECT_EQ(mixedGrids(mixedCluster(3, 1), {.tensorParallel = 2}),
            "(d0=2, m0=2)");
  // As fast as each other, or alone.
  EXPECT_EQ(mixedGrids(*presetCluster("dgx-a100", 4), {}), "(x0=2, x1=2)");
  Cluster equal = mixedCluster(2, 2);
  equal.devices[1].kind.peaks = equal.devices[0].kind.peaks;
  equal.devices[1].kind.efficiency = equal.devices[0].kind.efficiency;
  equal.devices[1].kind.memoryBytes = equal.devices[0].kind.memoryBytes;
  EXPECT_EQ(mixedGrids(equal, {}), "(x0=2, x1=2)");
}

TEST(MixedKinds, KindsAreTriedAloneAndLess) {
  auto count = [](const Cluster &cluster) {
    std::string text;
    llvm::raw_string_ostream os(text);
    auto grids = candidateGrids(cluster, {.maxAxes = 1});
    EXPECT_TRUE(grids) << grids.status().message();
    for (const DeviceGrid &candidate : *grids) {
      os << (text.empty() ? "" : " ") << candidate.grid.numPositions();
    }
    return text;
  };
  // What 2 can do, 6 can, too, if all are alike.
  EXPECT_EQ(count(*presetCluster("dgx-a100", 6)), "6 5 4");
  EXPECT_EQ(count(mixedCluster(2, 4)), "6 6 6 5 5 5 5 5 5 4 4 4 4 3 2");
}

TEST(MixedKinds, KindsArePacedByTheirOwnWhereWeightsPartThem) {
  Cluster mixed = mixedCluster(2, 2);
  auto pace = [&](llvm::StringRef mesh, llvm::ArrayRef<int64_t> devices) {
    auto grid = candidateGrids(mixed, {.mesh = mesh.str()});
    EXPECT_TRUE(grid) << grid.status().message();
    std::string text;
    for (const auto &[kind, part] :
         GridPace(mixed, grid->front().grid, devices).parts) {
      text += kind.name + " " + std::to_string(part.coordinates.begin) + ":" +
              std::to_string(part.coordinates.end) + ";";
    }
    return text;
  };
  EXPECT_EQ(pace("2x2", {}), "a100+v100 0:0;");
  EXPECT_EQ(pace("2:[3,1]x2", {}), "a100 0:1;v100 1:2;");
  EXPECT_EQ(pace("x=4:[3,3,1,1]", {}), "a100 0:2;v100 2:4;");
  EXPECT_EQ(pace("x=4:[3,3,1,1]", {0, 2, 1, 3}),
            "a100 0:1;v100 1:2;a100 2:3;v100 3:4;");
  // The axis with weights holds both kinds at each position.
  EXPECT_EQ(pace("2x2:[3,1]", {}), "a100+v100 0:0;");
  // Devices that no grid has set no pace.
  EXPECT_EQ(pace("2", {}), "a100 0:0;");
  EXPECT_EQ(pace("2", {3, 2}), "v100 0:0;");
}

/// The devices of all candidates of `count` positions.
static std::set<std::vector<int64_t>> devicesOf(const Cluster &cluster,
                                                int64_t count) {
  std::set<std::vector<int64_t>> all;
  auto grids = candidateGrids(cluster, {.devices = count});
  EXPECT_TRUE(grids) << grids.status().message();
  for (const DeviceGrid &candidate : *grids) {
    if (candidate.grid.numPositions() == count) {
      std::vector<int64_t> devices(candidate.devices.begin(),
                                   candidate.devices.end());
      if (devices.empty()) {
        devices.resize(count);
        std::iota(devices.begin(), devices.end(), 0);
      }
      all.insert(std::move(devices));
    }
  }
  return all;
}

TEST(MixedKinds, AreTakenInAnyOrder) {
  using Sets = std::set<std::vector<int64_t>>;
  EXPECT_EQ(devicesOf(mixedCluster(4, 4), 4),
            (Sets{{0, 1, 2, 3}, {0, 1, 4, 5}, {4, 5, 6, 7}}));
  EXPECT_EQ(devicesOf(mixedCluster(4, 4), 6),
            (Sets{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 4, 5, 6}, {0, 1, 4, 5, 6, 7}}));
  EXPECT_EQ(devicesOf(mixedCluster(4, 4), 8), (Sets{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(devicesOf(*presetCluster("dgx-a100", 8), 4), (Sets{{0, 1, 2, 3}}));
  // A kind that is spread over nodes is taken from all of them.
  Cluster spread = mixedCluster(2, 2);
  spread.devices.append({spread.devices[0], spread.devices[1]});
  spread.levels.push_back(presetCluster("dgx-a100", 16)->levels.back());
  EXPECT_EQ(devicesOf(spread, 4),
            (Sets{{0, 1, 2, 3}, {0, 1, 4, 5}, {2, 3, 6, 7}}));
}

TEST(MixedKinds, HoldWhatEachHas) {
  Cluster mixed = mixedCluster(2, 2);
  EXPECT_TRUE(mixed.hasKinds());
  EXPECT_FALSE(presetCluster("dgx-a100", 4)->hasKinds());
  EXPECT_EQ(mixed.kindOf(1).name, "a100");
  EXPECT_EQ(mixed.kindOf(2).name, "v100");
  EXPECT_EQ(mixed.kindOf(7).name, "v100");
  const DeviceKind &large = mixed.kindOf(0), &small = mixed.kindOf(2);
  ASSERT_GT(large.memoryBytes, small.memoryBytes);
  EXPECT_EQ(mixed.memoryLimit(large, std::nullopt), large.memoryBytes);
  EXPECT_EQ(mixed.memoryLimit(large, 1 << 30), 1 << 30);
  EXPECT_EQ(mixed.memoryLimit(small, large.memoryBytes), small.memoryBytes);
  // Of one kind, a user may know better.
  EXPECT_EQ(presetCluster("dgx-v100", 4)->memoryLimit(small, large.memoryBytes),
            large.memoryBytes);
}

TEST(MixedKinds, AreCountedByPart) {
  Cluster mixed = mixedCluster(2, 2);
  // Equal parts: the smallest memory binds.
  std::vector<GridMemory> even = memoriesOf(mixed, Grid({{"x", 4}}), {});
  ASSERT_EQ(even.size(), 1u);
  EXPECT_EQ(even[0].kind.name, "v100");
  EXPECT_EQ(even[0].positions.front().numPositions(Grid({{"x", 4}})), 4);
  EXPECT_EQ(memoriesOf(mixed, Grid({{"x", 2}}), {0, 1})[0].kind.name, "a100");
  // Runs of a kind that stand apart are one memory.
  Grid weighted({{"x", 4, {2, 1, 2, 1}}});
  std::vector<GridMemory> kinds = memoriesOf(mixed, weighted, {0, 2, 1, 3});
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].kind.name, "a100");
  ASSERT_EQ(kinds[0].positions.size(), 2u);
  EXPECT_EQ(kinds[0].positions[1].coordinates, (Interval{2, 3}));
  EXPECT_EQ(kinds[1].kind.name, "v100");
  EXPECT_EQ(kinds[1].positions[1].coordinates, (Interval{3, 4}));
}
