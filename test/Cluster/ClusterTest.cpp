//===- ClusterTest.cpp ----------------------------------------------------===//
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

using namespace divisi;

static Cluster cluster(llvm::StringRef spec) {
  Expected<Cluster> result = findCluster(spec);
  EXPECT_TRUE(result) << result.status().message();
  return result ? *result : Cluster();
}

static std::string errorOf(llvm::StringRef spec) {
  Expected<Cluster> result = findCluster(spec);
  return result ? "none" : result.status().message();
}

static std::vector<DeviceGrid> grids(llvm::StringRef spec,
                                     const GridRequest &request) {
  auto result = candidateGrids(cluster(spec), request);
  EXPECT_TRUE(result) << result.status().message();
  return result ? *result : std::vector<DeviceGrid>();
}

/// Those of as many devices as there are, `(x0=2) (x0=3)`, or the error.
static std::string gridsOf(llvm::StringRef spec, const GridRequest &request) {
  auto result = candidateGrids(cluster(spec), request);
  if (!result) {
    return result.status().message();
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const DeviceGrid &candidate : *result) {
    if (candidate.grid.numPositions() == result->front().grid.numPositions()) {
      os << (text.empty() ? "" : " ");
      candidate.grid.print(os);
    }
  }
  return text;
}

TEST(Cluster, PresetsHaveTheDevicesAskedFor) {
  for (llvm::StringRef preset : clusterPresets()) {
    for (int64_t count : {1, 3, 12, 64, 4096}) {
      Expected<Cluster> found = presetCluster(preset, count);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->numDevices(), count) << preset.str();
      EXPECT_EQ(verifyCluster(*found).message(), "") << preset.str();
    }
  }
}

TEST(Cluster, WhatIsNoPresetIsAnError) {
  EXPECT_TRUE(
      llvm::StringRef(errorOf("abacus:4"))
          .starts_with("there is no cluster preset 'abacus', and no such file; "
                       "presets are cpu:N cpu-server:N dgx-v100:N"));
  EXPECT_EQ(errorOf("cpu:5000"),
            "the cluster 'cpu:5000' needs a number of devices between 1 and "
            "4096; write for example cpu:4");
  EXPECT_EQ(errorOf("cpu"), "the cluster 'cpu' needs a number of devices "
                            "between 1 and 4096; write for example cpu:4");
}

TEST(Cluster, DevicesOfTwoNodesAreJoinedBySlowLinks) {
  Cluster machine = cluster("dgx-h100:16");
  EXPECT_EQ(0 / machine.unitSize(0), 7 / machine.unitSize(0));
  EXPECT_NE(7 / machine.unitSize(0), 8 / machine.unitSize(0));
  EXPECT_EQ(7 / machine.unitSize(1), 8 / machine.unitSize(1));
}

TEST(Cluster, AssumptionsArePrinted) {
  std::string text;
  llvm::raw_string_ostream os(text);
  cluster("dgx-h100:16").print(os);
  EXPECT_NE(text.find("peak bf16: 989 TFLOP/s"), std::string::npos) << text;
  EXPECT_NE(text.find("level infiniband: 2,"), std::string::npos) << text;
  EXPECT_NE(text.find(", switches sum 274 GB/s"), std::string::npos) << text;
  EXPECT_NE(text.find(", 396 GB/s to one peer, 141 GB/s with flags\n"
                      "    measured all_reduce of 8: 16.0 GiB at 480 GB/s\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("    products make tiles of 128 x 128, 132 at a time\n"
                      "    NVIDIA GPUs, sm_90\n"
                      "    elementwise operators are fused\n"),
            std::string::npos)
      << text;
  cluster("cpu:2").print(os);
  EXPECT_NE(text.find("launch of an operator: 0.3 us, of a product 2.5 us "
                      "more\n    outside of products: 25 GFLOP/s\n"),
            std::string::npos)
      << text;
  cluster("dgx-v100:16").print(os);
  EXPECT_NE(text.find(", 2.8 GB/s for all that share a port"),
            std::string::npos)
      << text;
}

TEST(Cluster, RatesFallBackToSinglePrecision) {
  DeviceKind kind = cluster("cpu:1").pace();
  EXPECT_EQ(kind.flopsPerSecond(Precision::BF16),
            kind.flopsPerSecond(Precision::F32));
}

TEST(Cluster, TheSlowestKindSetsThePace) {
  Cluster mixed = cluster("dgx-a100:4");
  mixed.devices.push_back(cluster("dgx-v100:4").devices.front());
  mixed.levels.front().fanout = 8;
  ASSERT_EQ(verifyCluster(mixed).message(), "");
  DeviceKind pace = mixed.pace();
  EXPECT_EQ(pace.peaks.f16, 1.25e14);
  // A V100 has no bf16: it takes its f32 rate.
  EXPECT_EQ(pace.peaks.bf16, 1.57e13);
  EXPECT_EQ(pace.memoryBytes, 14'000'000'000);
  // The larger waves.
  EXPECT_EQ(pace.multiprocessors, 108);
  // What both run.
  EXPECT_EQ(pace.computeCapability, 70);
  EXPECT_TRUE(pace.fuses);
  mixed.devices.push_back(cluster("cpu:1").devices.front());
  EXPECT_TRUE(mixed.pace().fuses);
  EXPECT_EQ(mixed.pace().computeCapability, 0);
  mixed.devices.back().kind.fuses = false;
  EXPECT_FALSE(mixed.pace().fuses);
}

/// Of processors that state nothing, those of a machine that describes itself.
TEST(Cluster, ProcessorsNameTheirInstructions) {
  Cluster threads = cluster("cpu:2"), sockets = cluster("cpu-server:2");
  EXPECT_EQ(threads.pace().instructionSet, "");
  EXPECT_TRUE(threads.pace().isProcessor());
  threads.describeHost("avx2");
  EXPECT_EQ(threads.pace().instructionSet, "avx2");
  threads.describeHost("avx512_core");
  EXPECT_EQ(threads.pace().instructionSet, "avx2");
  Cluster gpus = cluster("dgx-h100:2");
  for (Cluster *other : {&sockets, &gpus}) {
    Cluster before = *other;
    other->describeHost("avx2");
    EXPECT_TRUE(*other == before);
    EXPECT_FALSE(other->pace().isProcessor());
  }
  sockets.devices.front().kind.instructionSet = "avx2";
  EXPECT_TRUE(sockets.pace().isProcessor());
}

TEST(Cluster, KindsExecuteWhatTheyHaveInCommon) {
  auto common = [](const char *a, const char *b) {
    Cluster both = cluster("cpu:1");
    both.devices.push_back(both.devices.front());
    both.devices[0].kind.instructionSet = a;
    both.devices[1].kind.instructionSet = b;
    return both.pace().instructionSet;
  };
  EXPECT_EQ(common("avx2", "avx2"), "avx2");
  EXPECT_EQ(common("avx2_vnni", "avx512_core_bf16"), "avx2");
  EXPECT_EQ(common("avx512_core_fp16", "avx2_vnni"), "avx2_vnni");
  EXPECT_EQ(common("avx512_core_bf16", "avx512_core_amx"), "avx512_core_bf16");
  EXPECT_EQ(common("avx2", ""), "");
}

//===----------------------------------------------------------------------===//
// YAML
//===----------------------------------------------------------------------===//

TEST(ClusterFile, WhatIsWrittenIsReadAgain) {
  for (llvm::StringRef preset : clusterPresets()) {
    Expected<Cluster> before = presetCluster(preset, 20);
    ASSERT_TRUE(before);
    std::string text;
    llvm::raw_string_ostream os(text);
    printClusterYAML(*before, os);
    Expected<Cluster> after = parseClusterYAML(text);
    ASSERT_TRUE(after) << after.status().message() << text;
    EXPECT_TRUE(*after == *before) << text;
  }
}

static std::string yaml(const std::string &levels,
                        const std::string &count = "4") {
  return "name: mine\ndevices:\n  - {count: " + count +
         ", kind: d, peak_flops_per_second: {f32: 1e12}, "
         "memory_bytes_per_second: 1e10, memory_bytes: 1000000}\n" +
         levels;
}

static std::string yamlError(const std::string &text) {
  Expected<Cluster> result = parseClusterYAML(text);
  return result ? "none" : result.status().message();
}

TEST(ClusterFile, BadFilesSayWhatIsWrong) {
  EXPECT_EQ(yamlError(yaml("levels: [{name: l, fanout: 4, bytes_per_second: "
                           "1e9}]")),
            "none");
  EXPECT_EQ(yamlError(yaml("")),
            "the cluster has 4 devices, but its levels join only 1: the "
            "product of all fanouts");
  EXPECT_EQ(yamlError(yaml("levels: [{name: l, fanout: 4, bytes_per_second: "
                           "-1e9}]")),
            "the level 'l' has bytes_per_second -1e+09, expected above 0");
  EXPECT_EQ(yamlError(yaml("levels: [{name: l, fanout: 4, bytes_per_second: "
                           "1e9, latency_nanoseconds: -5}]")),
            "the level 'l' has latency_nanoseconds -5, expected at least 0");
  EXPECT_EQ(yamlError(yaml("levels: [{name: l, fanout: 4}]")),
            "line 4: missing required key 'bytes_per_second'");
  EXPECT_EQ(yamlError(yaml("speed: 1")), "line 4: unknown key 'speed'");
  EXPECT_EQ(yamlError(yaml("levels: [{name: l, fanout: 4, bytes_per_second: "
                           "1e9}, {name: l, fanout: 1, bytes_per_second: "
                           "1e9}]")),
            "the level 'l' occurs twice");
  EXPECT_EQ(yamlError(yaml("", "0")),
            "the kind of devices 'd' has count 0, expected 1 to 4096");
  EXPECT_EQ(yamlError(""), "the file has no cluster");
  EXPECT_EQ(yamlError("name: ''\ndevices: []"), "the cluster has no name");
  EXPECT_EQ(yamlError("name: x\ndevices: []"), "the cluster has no devices");
  EXPECT_EQ(yamlError(yaml("levels: [{name: '', fanout: 4, bytes_per_second: "
                           "1e9}]")),
            "a level of links has no name");
  std::string nameless = yaml(""), wasteful = yaml("    efficiency: 2");
  nameless.replace(nameless.find("kind: d"), 7, "kind: ''");
  EXPECT_EQ(yamlError(nameless), "a kind of devices has no name");
  wasteful.replace(wasteful.find("{count: 4, "), 11,
                   "{efficiency: 2, count: 4, ");
  wasteful.resize(wasteful.find("    efficiency"));
  EXPECT_EQ(yamlError(wasteful), "the kind of devices 'd' has efficiency 2, "
                                 "expected above 0 and at most 1");
  std::string crowd = yaml("", "4096");
  crowd += "  - {count: 2, kind: e, peak_flops_per_second: {f32: 1e12}, "
           "memory_bytes_per_second: 1e10, memory_bytes: 1000000}\n";
  EXPECT_EQ(yamlError(crowd),
            "the cluster has 4098 devices, expected at most 4096");
  EXPECT_NE(yamlError("[1, 2"), "none");
  EXPECT_NE(yamlError("name: {a: b}"), "none");
}

TEST(ClusterFile, BadKindsSayWhatIsWrong) {
  auto error = [](const std::string &fields) {
    return yamlError("name: mine\ndevices:\n  - {count: 1, kind: d, "
                     "peak_flops_per_second: {f32: 1e12}, "
                     "memory_bytes_per_second: 1e10, memory_bytes: 1000000, " +
                     fields + "}\n");
  };
  EXPECT_EQ(error("multiprocessors: 108, tile_edge: 128, fuses: true"), "none");
  EXPECT_EQ(error("multiprocessors: 108"),
            "the kind of devices 'd' has tile_edge 0, expected a number above "
            "0 with multiprocessors, and 0 without");
  EXPECT_EQ(error("tile_edge: 128"),
            "the kind of devices 'd' has tile_edge 128, expected a number "
            "above 0 with multiprocessors, and 0 without");
  EXPECT_EQ(error("multiprocessors: -1"),
            "the kind of devices 'd' has multiprocessors -1, expected at least "
            "0");
  EXPECT_EQ(error("compute_capability: -90"),
            "the kind of devices 'd' has compute_capability -90, expected at "
            "least 0");
  EXPECT_EQ(error("compute_capability: 90"), "none");
  EXPECT_EQ(error("instruction_set: avx2"), "none");
  EXPECT_EQ(error("instruction_set: avx3"),
            "the kind of devices 'd' has the instruction_set 'avx3', expected "
            "one of sse41, avx, avx2, avx2_vnni, avx2_vnni_2, avx512_core, "
            "avx512_core_vnni, avx512_core_bf16, avx512_core_fp16, "
            "avx512_core_amx, avx512_core_amx_fp16");
  EXPECT_EQ(error("compute_capability: 90, instruction_set: avx2"),
            "the kind of devices 'd' has compute_capability 90, expected 0 "
            "with an instruction_set");
  EXPECT_EQ(error("fuses: perhaps"), "line 3: invalid boolean");
}

TEST(ClusterFile, BadPointsSayWhatIsWrong) {
  auto error = [](const std::string &points) {
    return yamlError(yaml("levels:\n"
                          "  - {name: l, fanout: 2, bytes_per_second: 1e9}\n"
                          "  - {name: m, fanout: 2, bytes_per_second: 1e9, "
                          "measured: [" +
                          points + "]}\n"));
  };
  auto point = [](const std::string &bytes, const std::string &rate,
                  const std::string &members = "4",
                  const std::string &collective = "all_reduce") {
    return "{collective: " + collective + ", members: " + members +
           ", bytes: " + bytes + ", bus_bytes_per_second: " + rate + "}";
  };
  std::string owner = "the measurements of the level 'm' has ";
  EXPECT_EQ(error(point("1000", "1e8") + ", " + point("2000", "2e8") + ", " +
                  point("1000", "9e8", "8") + ", " +
                  point("500", "9e8", "4", "all_to_all")),
            "none");
  EXPECT_EQ(error(point("0", "1e8")), owner + "bytes 0, expected above 0");
  EXPECT_EQ(error(point("8", "0")),
            owner + "bus_bytes_per_second 0, expected above 0");
  for (std::string members : {"1", "2", "3", "5000"}) {
    EXPECT_EQ(error(point("8", "1e8", members)),
              owner + "members " + members +
                  ", expected 2 to 4096, several whole units of the level "
                  "below");
  }
  EXPECT_EQ(error(point("2000", "1e8") + ", " + point("2000", "1e8")),
            owner + "bytes 2000, expected more than in the point before, of "
                    "the same collective and members");
  EXPECT_EQ(error(point("1000", "1e8") + ", " + point("2000", "2.1e8")),
            owner + "bus_bytes_per_second 2.1e+08, expected at most what takes "
                    "as long as the point before, which has fewer bytes");
  EXPECT_EQ(error("{collective: broadcast, members: 4, bytes: 8, "
                  "bus_bytes_per_second: 1}"),
            "line 6: unknown enumerated scalar");
  EXPECT_EQ(error("{collective: all_reduce, members: 4}"),
            "line 6: missing required key 'bytes'");
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

TEST(DeviceGrid, AxesAreAsFineAsIsUseful) {
  EXPECT_EQ(gridsOf("cpu:1", {}), "()");
  EXPECT_EQ(gridsOf("cpu:6", {}), "(x0=3, x1=2) (x0=2, x1=3)");
  EXPECT_EQ(gridsOf("cpu:8", {}), "(x0=2, x1=2, x2=2)");
  EXPECT_EQ(gridsOf("cpu:16", {}), "(x0=2, x1=2, x2=2, x3=2)");
  EXPECT_EQ(gridsOf("cpu:16", {.maxAxes = 3}), "(x0=4, x1=2, x2=2)");
  EXPECT_EQ(gridsOf("cpu:8", {.devices = 5}), "(x0=5)");
}

TEST(DeviceGrid, AxesLieWithinALevel) {
  EXPECT_EQ(gridsOf("dgx-h100:64", {.maxAxes = 3}),
            "(x0=8, x1=4, x2=2) (x0=4, x1=2, x2=8)");
  EXPECT_EQ(gridsOf("dgx-h100:64", {}),
            "(x0=8, x1=2, x2=2, x3=2) (x0=4, x1=2, x2=4, x3=2) "
            "(x0=2, x1=2, x2=2, x3=8)");
  // Over nodes of 8, 12 devices cross them somewhere, or 6 stand in each.
  EXPECT_EQ(gridsOf("dgx-h100:12", {}),
            "(x0=3, x1=2, x2=2) (x0=2, x1=3, x2=2) (x0=2, x1=2, x2=3)");
  auto even = grids("dgx-h100:16", {.devices = 12});
  ASSERT_FALSE(even.empty());
  EXPECT_EQ(even.front().devices, (llvm::SmallVector<int64_t, 8>{
                                      0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13}));
}

TEST(DeviceGrid, FewerDevicesAreCandidatesUnlessAFinerGridHasThem) {
  auto counts = [](llvm::StringRef spec) {
    std::vector<int64_t> counts;
    for (const DeviceGrid &grid : grids(spec, {.maxAxes = 3})) {
      counts.push_back(grid.grid.numPositions());
    }
    return counts;
  };
  EXPECT_EQ(counts("cpu:8"), (std::vector<int64_t>{8, 7, 6, 5}));
  EXPECT_EQ(counts("cpu:4"), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(counts("cpu:32"), (std::vector<int64_t>{32, 32, 27, 24, 24, 18}));
}

TEST(DeviceGrid, ModelAxesStandInnermost) {
  EXPECT_EQ(gridsOf("dgx-h100:16", {.tensorParallel = 8}),
            "(d0=2, m0=2, m1=2, m2=2)");
  EXPECT_EQ(gridsOf("cpu:4", {.dataParallel = 4}), "(d0=2, d1=2)");
  EXPECT_EQ(gridsOf("cpu:4", {.dataParallel = 2, .tensorParallel = 2}),
            "(d0=2, m0=2)");
  // Where they reach beyond a node, some of them stand between nodes.
  EXPECT_EQ(gridsOf("dgx-h100:64", {.tensorParallel = 16}),
            "(d0=4, m0=2, m1=4, m2=2) (d0=2, d1=2, m0=2, m1=8)");
}

TEST(DeviceGrid, MeshesAreTakenAsTheyAre) {
  EXPECT_EQ(gridsOf("cpu:8", {.mesh = "2x4"}), "(x0=2, x1=4)");
  auto named = grids("cpu:8", {.mesh = "data=2,model=4"});
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].roles[0], AxisRole::Data);
  EXPECT_EQ(named[0].roles[1], AxisRole::Model);
}

TEST(DeviceGrid, ContradictionsAreErrors) {
  EXPECT_EQ(gridsOf("cpu:4", {.devices = 6}),
            "the number of devices is 6, expected 1 to 4, which the cluster "
            "cpu:4 has");
  EXPECT_EQ(gridsOf("cpu:4", {.devices = 0}),
            "the number of devices is 0, expected 1 to 4, which the cluster "
            "cpu:4 has");
  EXPECT_EQ(gridsOf("cpu:4", {.tensorParallel = 3}),
            "the tensor parallel size 3 does not divide the number of "
            "devices, 4");
  EXPECT_EQ(gridsOf("cpu:4", {.dataParallel = -1}),
            "the data parallel size is -1, expected at least 1");
  EXPECT_EQ(gridsOf("cpu:8", {.dataParallel = 2, .tensorParallel = 2}),
            "data parallel size 2 times tensor parallel size 2 is 4, but there "
            "are 8 devices");
  EXPECT_EQ(gridsOf("cpu:8", {.mesh = "2x"}),
            "the mesh '2x' is not understood at ''; write for example 2x4 or "
            "data=2,model=4");
  EXPECT_EQ(gridsOf("cpu:8", {.devices = 4, .mesh = "2x4"}),
            "the mesh '2x4' has 8 positions, but 4 devices are requested");
  EXPECT_EQ(gridsOf("cpu:8", {.mesh = "2x4", .tensorParallel = 4}),
            "the mesh '2x4' does not say which axes are for data and which for "
            "the model; write for example data=2,model=4");
  EXPECT_EQ(gridsOf("cpu:8", {.mesh = "data=2,model=4", .tensorParallel = 2}),
            "the mesh 'data=2,model=4' has data parallel size 2 and tensor "
            "parallel size 4, which differs from the requested sizes");
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

static Reach reachOf(llvm::StringRef spec, const std::string &mesh,
                     std::vector<uint32_t> axes) {
  auto grid = grids(spec, {.mesh = mesh});
  llvm::SmallVector<AxisId, 4> ids;
  for (uint32_t axis : axes) {
    ids.push_back(AxisId{axis});
  }
  return grid.empty() ? Reach() : grid.front().links.reach(ids);
}

using Fanouts = llvm::SmallVector<int64_t, 2>;

TEST(GridLinks, AGroupReachesAsFarAsItsDevices) {
  EXPECT_EQ(reachOf("dgx-h100:16", "2x8", {1}).fanouts, (Fanouts{8, 1}));
  EXPECT_EQ(reachOf("dgx-h100:16", "2x8", {0}).fanouts, (Fanouts{1, 2}));
  EXPECT_EQ(reachOf("dgx-h100:16", "2x8", {0, 1}).fanouts, (Fanouts{8, 2}));
  EXPECT_EQ(reachOf("dgx-h100:16", "16", {0}).fanouts, (Fanouts{8, 2}));
  // The third of eight groups of three is devices 6, 7 and 8.
  Reach worst = reachOf("dgx-h100:24", "8x3", {1});
  EXPECT_EQ(worst.fanouts, (Fanouts{3, 2}));
  EXPECT_EQ(worst.members, 3);
  EXPECT_FALSE(worst.isEven());
}

TEST(GridLinks, DevicesOfANodeShareItsPort) {
  // Of the 2.8 GB/s of a node each of eight devices has an eighth.
  EXPECT_DOUBLE_EQ(reachOf("dgx-v100:16", "2x8", {0}).bytesPerSecond[1],
                   2.8e9 / 8);
  EXPECT_DOUBLE_EQ(reachOf("dgx-h100:16", "2x8", {0}).bytesPerSecond[1],
                   4.5e10);
}
