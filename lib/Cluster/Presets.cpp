//===- Presets.cpp - Machines that many people have -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Peaks are dense and nominal, from vendors' sheets; rates of memory are 0.9 of
// nominal. Of an accelerator's memory 2 GB are the driver's and the
// communicators'. `efficiency` is the largest that matrix products were seen to
// reach (stas00/ml-engineering, "maximum achievable FLOPS"); where nobody
// measured, 0.8. Products make tiles of 128 x 128. Copies to and from the host
// go over PCIe of 16 lanes, 0.88 of nominal; of a TPU's they are not stated.
// Rings reach what NCCL counts
// for each NVLink (20 GB/s, Hopper 20.6, Blackwell 40.1), with flags its limits
// for LL, and 0.9 of a port's rate; peers 0.88 of NVLink and of PCIe. Of MI300X
// a ring of 8 was measured, and each of its 7 links taken for a seventh.
//
// Measured points are every other row, by size, of published measurements;
// docs/rationale-cost.md says how well they foretell the others.
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/Cluster.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi {

namespace {
/// A machine of one kind of devices.
struct Preset {
  llvm::StringLiteral name;
  DeviceKind kind;
  int64_t perNode; ///< Devices; 0: as many as there are.
  LinkLevel inNode;
  LinkLevel betweenNodes; ///< Not used where there is one node.
};
} // namespace

static constexpr int64_t GB = 1000 * 1000 * 1000;

static constexpr int64_t MiB = 1 << 20;

namespace {
/// A row of a published table, and what the model says of it in nanoseconds,
/// which a test computes again.
struct Point {
  int64_t bytes;
  double busBytesPerSecond;
  int64_t modelNanoseconds;
};
} // namespace

/// The points of a collective of `members`.
static llvm::SmallVector<MeasuredRate, 0>
measured(Collective collective, int64_t members,
         std::initializer_list<Point> points) {
  llvm::SmallVector<MeasuredRate, 0> curve;
  for (const Point &point : points) {
    curve.push_back({collective, members, point.bytes, point.busBytesPerSecond,
                     point.modelNanoseconds});
  }
  return curve;
}

static LinkLevel nvlink(double rate, double peer, double flagged = 0) {
  return {.name = "nvlink",
          .transport = Transport::NvLink,
          .bytesPerSecond = rate,
          .peerBytesPerSecond = peer,
          .flaggedBytesPerSecond = flagged};
}

static LinkLevel hopper() {
  LinkLevel level = nvlink(3.708e11, 3.96e11, 1.41e11);
  level.switchBytesPerSecond = 2.74e11;
  level.measured =
      measured(Collective::AllReduce, 8, {{16384 * MiB, 4.8e11, 62725252}});
  level.measured.append(
      measured(Collective::AllGather, 8, {{16384 * MiB, 3.614e11, 40572614}}));
  return level;
}

static LinkLevel blackwell() {
  LinkLevel level = nvlink(7.218e11, 7.92e11, 2.82e11);
  level.switchBytesPerSecond = 4.83e11;
  level.measured = measured(Collective::AllReduce, 8,
                            {{MiB, 3.6e10, 21507},
                             {128 * MiB, 5.68e11, 302883},
                             {16384 * MiB, 8.46e11, 35594087}});
  return level;
}

static LinkLevel pci(double rate) {
  return {.name = "pci", .transport = Transport::Pci, .bytesPerSecond = rate};
}

/// `rate` per device; all of a node share `unitRate` if that is given.
static LinkLevel network(const char *name, int64_t latency, double rate,
                         double unitRate = 0) {
  return {.name = name,
          .transport = Transport::Network,
          .latencyNanoseconds = latency,
          .bytesPerSecond = rate,
          .unitBytesPerSecond = unitRate};
}

/// What carries NCCL's messages with flags, of more than two nodes.
static constexpr double kFlaggedBetweenNodes = 2.04e10;

static LinkLevel infiniband() {
  LinkLevel level = network("infiniband", 1000, 4.5e10);
  level.flaggedBytesPerSecond = kFlaggedBetweenNodes;
  return level;
}

/// Of 32 devices in four nodes.
static LinkLevel elasticFabric() {
  LinkLevel level = network("efa", 17500, 4.5e10);
  level.flaggedBytesPerSecond = kFlaggedBetweenNodes;
  level.measured = measured(Collective::AllReduce, 32,
                            {{MiB, 5.4e9, 129262},
                             {128 * MiB, 1.98e11, 1000026},
                             {16384 * MiB, 3.82e11, 93151022}});
  return level;
}

/// Copies to and from the host, over 16 lanes of PCIe: 0.88 of nominal.
static constexpr double kPci3 = 1.39e10, kPci4 = 2.77e10, kPci5 = 5.54e10;
/// Of NVLink-C2C half of a Grace's 450 GB/s, which two GPUs share, 0.88 of it.
static constexpr double kChipToChip = 1.98e11;

static DeviceKind kind(const char *name, PeakRates peaks, double efficiency,
                       double bytesPerSecond, int64_t bytes, double hostRate,
                       int64_t multiprocessors, int64_t computeCapability = 0) {
  return {.name = name,
          .peaks = peaks,
          .efficiency = efficiency,
          .memoryBytesPerSecond = 0.9 * bytesPerSecond,
          .memoryBytes = bytes - 2 * GB,
          .launchNanoseconds = 2000,
          .hostBytesPerSecond = hostRate,
          .multiprocessors = multiprocessors,
          .tileEdge = multiprocessors > 0 ? 128 : 0,
          .computeCapability = computeCapability,
          .fuses = true};
}

/// Machines of accelerators; TF32 counts as f32 where products may use it.
static llvm::SmallVector<Preset, 16> acceleratorPresets() {
  PeakRates a100 = {1.95e13, 1.95e13, 3.12e14, 3.12e14, 6.24e14};
  PeakRates h100 = {6.7e13, 6.7e13, 9.89e14, 9.89e14, 1.979e15};
  DeviceKind b200 = kind("b200", {4e13, 8e13, 2.25e15, 2.25e15, 4.5e15}, 0.776,
                         8e12, 180 * GB, kPci5, 148, 100);
  LinkLevel ampere = nvlink(2.4e11, 2.64e11, 8.77e10);
  // As a node of eight: of 72 nobody has published what they reach.
  LinkLevel rack = nvlink(7.218e11, 7.92e11, 2.82e11);
  rack.switchBytesPerSecond = 4.83e11;
  return {
      // Some pairs have one link of 20 GB/s.
      {"dgx-v100",
       kind("v100", {7.8e12, 1.57e13, 1.25e14, 0, 6.2e13}, 0.85, 9e11, 16 * GB,
            kPci3, 80, 70),
       8, nvlink(1.2e11, 2e10, 3.9e10),
       network("ethernet", 20000, 2.8e9, 2.8e9)},
      {"dgx-a100-40",
       kind("a100-40", a100, 0.869, 1.555e12, 40 * GB, kPci4, 108, 80), 8,
       ampere, network("infiniband", 1000, 2.25e10)},
      {"dgx-a100", kind("a100", a100, 0.869, 2.0e12, 80 * GB, kPci4, 108, 80),
       8, ampere, network("infiniband", 1000, 2.25e10)},
      {"dgx-h100", kind("h100", h100, 0.803, 3.35e12, 80 * GB, kPci5, 132, 90),
       8, hopper(), infiniband()},
      {"dgx-h200", kind("h200", h100, 0.8, 4.8e12, 141 * GB, kPci5, 132, 90), 8,
       hopper(), infiniband()},
      {"dgx-b200", b200, 8, blackwell(), infiniband()},
      {"p6-b200", b200, 8, blackwell(), elasticFabric()},
      {"gb200-nvl72",
       kind("gb200", {4.5e13, 8e13, 2.5e15, 2.5e15, 5e15}, 0.729, 8e12,
            186 * GB, kChipToChip, 148, 100),
       72, rack, infiniband()},
      {"l4",
       kind("l4", {0, 3.03e13, 1.21e14, 1.21e14, 2.42e14}, 0.8, 3e11, 24 * GB,
            kPci4, 58, 89),
       8, pci(2.7e10), network("ethernet", 20000, 1.1e10, 1.1e10)},
      {"rtx4090",
       kind("rtx4090", {0, 8.26e13, 1.65e14, 1.65e14, 6.6e14}, 0.8, 1.008e12,
            24 * GB, kPci4, 128, 89),
       8, pci(1.5e10), network("ethernet", 20000, 1.1e10, 1.1e10)},
      {"mi300x",
       kind("mi300x", {8.17e13, 1.634e14, 1.307e15, 1.307e15, 2.6e15}, 0.514,
            5.3e12, 192 * GB, kPci5, 304),
       8, nvlink(3.13e11, 3.13e11 / 7), network("infiniband", 1000, 4.5e10)},
      {"tpu-v4",
       kind("tpu-v4", {0, 0.6875e14, 0, 2.75e14, 2.75e14}, 0.8, 1.2e12, 32 * GB,
            0, 0),
       64, nvlink(1.2e11, 0), network("datacenter", 20000, 5.4e9)},
  };
}

/// Sockets of servers, and threads of a small virtual machine.
static llvm::SmallVector<Preset, 2> processorPresets() {
  DeviceKind socket = {
      .name = "socket",
      .peaks = {.f64 = 2.35e12, .f32 = 4.7e12, .bf16 = 9.4e12, .i8 = 1.88e13},
      .efficiency = 0.8,
      .memoryBytesPerSecond = 2.0e11,
      .memoryBytes = 128 * GB,
      .launchNanoseconds = 1000,
      .fuses = true};
  DeviceKind thread = {.name = "cpu",
                       .peaks = {.f64 = 1.6e11, .f32 = 3.2e11, .i8 = 1.28e12},
                       .efficiency = 0.7,
                       .memoryBytesPerSecond = 4.0e10,
                       .memoryBytes = int64_t(16) << 30,
                       .launchNanoseconds = 300,
                       .productLaunchNanoseconds = 2500,
                       .vectorFlopsPerSecond = 2.5e10,
                       .fuses = true};
  LinkLevel memory = {
      .name = "machine", .latencyNanoseconds = 2000, .bytesPerSecond = 1.2e10};
  LinkLevel sockets = {
      .name = "machine", .latencyNanoseconds = 1000, .bytesPerSecond = 1.5e10};
  LinkLevel ethernet = {.name = "ethernet",
                        .latencyNanoseconds = 20000,
                        .bytesPerSecond = 1.1e10,
                        .unitBytesPerSecond = 1.1e10};
  return {{"cpu", thread, 0, memory, {}},
          {"cpu-server", socket, 2, sockets, ethernet}};
}

static const llvm::SmallVector<Preset, 16> &presets() {
  static const llvm::SmallVector<Preset, 16> all = [] {
    llvm::SmallVector<Preset, 16> list(processorPresets());
    llvm::append_range(list, acceleratorPresets());
    return list;
  }();
  return all;
}

llvm::SmallVector<llvm::StringRef, 16> clusterPresets() {
  llvm::SmallVector<llvm::StringRef, 16> names;
  for (const Preset &preset : presets()) {
    names.push_back(preset.name);
  }
  return names;
}

Expected<Cluster> presetCluster(llvm::StringRef name, int64_t count) {
  const auto *preset = llvm::find_if(
      presets(), [&](const Preset &known) { return known.name == name; });
  if (preset == presets().end()) {
    std::string known;
    for (llvm::StringRef other : clusterPresets()) {
      known += " " + other.str() + ":N";
    }
    return Status(ExitCode::Usage, "there is no cluster preset '" + name.str() +
                                       "', and no such file; presets are" +
                                       known);
  }
  if (count < 1 || count > Cluster::maxDevices) {
    return makeError(ExitCode::Usage, "the cluster '", name.str(), ":", count,
                     "' needs a number of devices between 1 and ",
                     Cluster::maxDevices, "; write for example cpu:4");
  }
  Cluster cluster;
  cluster.name = name.str() + ":" + std::to_string(count);
  cluster.devices = {{count, preset->kind}};
  int64_t perNode = preset->perNode == 0 ? count : preset->perNode;
  LinkLevel inNode = preset->inNode, between = preset->betweenNodes;
  inNode.fanout = std::min(perNode, count);
  cluster.levels = {inNode};
  if (count > perNode) {
    between.fanout = (count + perNode - 1) / perNode;
    cluster.levels.push_back(between);
  }
  return cluster;
}

} // namespace divisi
