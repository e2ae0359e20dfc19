//===- ClusterTest.cpp ----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/DeviceGrid.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace divisi;

static Cluster cluster(llvm::StringRef spec) {
  std::string error;
  std::optional<Cluster> result = parseCluster(spec, error);
  EXPECT_TRUE(result) << error;
  return result.value_or(Cluster());
}

static std::string gridOf(llvm::StringRef spec, const GridRequest &request) {
  std::string error, text;
  std::optional<DeviceGrid> result = gridFor(cluster(spec), request, error);
  if (!result) {
    return error;
  }
  llvm::raw_string_ostream os(text);
  result->grid.print(os);
  return text;
}

TEST(Cluster, PresetsHaveTheDevicesAskedFor) {
  EXPECT_EQ(cluster("cpu:3").numDevices(), 3);
  EXPECT_EQ(cluster("dgx-h100:4").numDevices(), 4);
  EXPECT_EQ(cluster("dgx-h100:32").numDevices(), 32);
}

TEST(Cluster, WhatIsNoPresetIsAnError) {
  std::string error;
  EXPECT_FALSE(parseCluster("abacus:4", error));
  EXPECT_EQ(error, "no cluster is called 'abacus'; there are cpu:N "
                   "dgx-h100:N");
  EXPECT_FALSE(parseCluster("cpu:5000", error));
  EXPECT_EQ(error, "the cluster 'cpu:5000' names no number of devices between "
                   "1 and 4096; write for example cpu:4");
  EXPECT_FALSE(parseCluster("dgx-h100:12", error));
  EXPECT_EQ(error, "a DGX node has 8 devices, so more than that come in "
                   "multiples of 8, got 12");
}

TEST(Cluster, DevicesOfTwoNodesAreJoinedBySlowLinks) {
  Cluster machine = cluster("dgx-h100:16");
  EXPECT_GT(machine.link(1, 8).bytesPerSecond, 3e11);
  EXPECT_LT(machine.link(8, 2).bytesPerSecond, 1e11);
  EXPECT_LT(machine.link(4, 4).bytesPerSecond, 1e11);
}

TEST(Cluster, AssumptionsArePrinted) {
  std::string text;
  llvm::raw_string_ostream os(text);
  cluster("dgx-h100:16").print(os);
  EXPECT_NE(text.find("peak bf16: 989 TFLOP/s"), std::string::npos)
      << text;
  EXPECT_NE(text.find("level infiniband: 2,"), std::string::npos) << text;
}

TEST(Cluster, RatesFallBackToSinglePrecision) {
  Cluster machine = cluster("cpu:1");
  EXPECT_EQ(machine.device.flopsPerSecond(Precision::BF16),
            machine.device.flopsPerSecond(Precision::F32));
}

TEST(DeviceGrid, AxesAreAsFineAsIsUseful) {
  EXPECT_EQ(gridOf("cpu:1", {}), "()");
  EXPECT_EQ(gridOf("cpu:6", {}), "(x0=3, x1=2)");
  EXPECT_EQ(gridOf("cpu:8", {}), "(x0=2, x1=2, x2=2)");
  EXPECT_EQ(gridOf("cpu:16", {}), "(x0=4, x1=2, x2=2)");
  EXPECT_EQ(gridOf("cpu:8", {.devices = 5}), "(x0=5)");
}

TEST(DeviceGrid, ModelAxesStandInnermost) {
  EXPECT_EQ(gridOf("dgx-h100:16", {.tensorParallel = 8}), "(d0=2, m0=4, m1=2)");
  EXPECT_EQ(gridOf("cpu:4", {.dataParallel = 4}), "(d0=2, d1=2)");
  EXPECT_EQ(gridOf("cpu:4", {.dataParallel = 2, .tensorParallel = 2}),
            "(d0=2, m0=2)");
}

TEST(DeviceGrid, MeshesAreTakenAsTheyAre) {
  EXPECT_EQ(gridOf("cpu:8", {.mesh = "2x4"}), "(x0=2, x1=4)");
  EXPECT_EQ(gridOf("cpu:8", {.mesh = "data=2,model=4"}), "(data=2, model=4)");
  std::string error;
  auto named = gridFor(cluster("cpu:8"), {.mesh = "data=2,model=4"}, error);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->roles[0], AxisRole::Data);
  EXPECT_EQ(named->roles[1], AxisRole::Model);
}

TEST(DeviceGrid, ContradictionsAreErrors) {
  EXPECT_EQ(gridOf("cpu:4", {.devices = 6}),
            "the number of devices is 6, expected 1 to 4, which the cluster "
            "cpu:4 has");
  EXPECT_EQ(gridOf("cpu:4", {.devices = 0}),
            "the number of devices is 0, expected 1 to 4, which the cluster "
            "cpu:4 has");
  EXPECT_EQ(gridOf("cpu:4", {.tensorParallel = 3}),
            "the tensor parallel size 3 does not divide the number of "
            "devices, 4");
  EXPECT_EQ(gridOf("cpu:4", {.dataParallel = -1}),
            "the data parallel size is -1, expected at least 1");
  EXPECT_EQ(gridOf("cpu:8", {.dataParallel = 2, .tensorParallel = 2}),
            "data parallel size 2 times tensor parallel size 2 is 4, but there "
            "are 8 devices");
  EXPECT_EQ(gridOf("cpu:8", {.mesh = "2x"}),
            "the mesh '2x' is not understood at ''; write for example 2x4 or "
            "data=2,model=4");
  EXPECT_EQ(gridOf("cpu:8", {.devices = 4, .mesh = "2x4"}),
            "the mesh '2x4' has 8 positions, but 4 devices are asked for");
  EXPECT_EQ(gridOf("cpu:8", {.mesh = "2x4", .tensorParallel = 4}),
            "the mesh '2x4' does not say which axes are for data and which for "
            "the model; write for example data=2,model=4");
  EXPECT_EQ(gridOf("cpu:8", {.mesh = "data=2,model=4", .tensorParallel = 2}),
            "the mesh 'data=2,model=4' has data parallel size 2 and tensor "
            "parallel size 4, which is not what is asked for");
}

TEST(DeviceGrid, EachAxisPaysItsSlowestLink) {
  std::string error;
  auto grid = gridFor(cluster("dgx-h100:16"), {.tensorParallel = 8}, error);
  ASSERT_TRUE(grid) << error;
  EXPECT_LT(grid->links.axes[0].bytesPerSecond, 1e11);
  EXPECT_GT(grid->links.axes[1].bytesPerSecond, 3e11);
  EXPECT_EQ(grid->links.memoryBytesPerSecond, 3.0e12);
}
