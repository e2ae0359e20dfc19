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
// measured, 0.8. Rings reach 0.82 of NVLink's nominal rate and 0.9 of a port's;
// peers 0.88 of PCIe.
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

static LinkLevel nvlink(double rate, double sums = 0) {
  return {.name = "nvlink",
          .transport = Transport::NvLink,
          .bytesPerSecond = rate,
          .switchBytesPerSecond = sums};
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

static DeviceKind kind(const char *name, PeakRates peaks, double efficiency,
                       double bytesPerSecond, int64_t bytes) {
  return {.name = name,
          .peaks = peaks,
          .efficiency = efficiency,
          .memoryBytesPerSecond = 0.9 * bytesPerSecond,
          .memoryBytes = bytes - 2 * GB,
          .launchNanoseconds = 2000};
}

/// Machines of accelerators; TF32 counts as f32 where products may use it.
static llvm::SmallVector<Preset, 16> acceleratorPresets() {
  PeakRates a100 = {1.95e13, 1.95e13, 3.12e14, 3.12e14, 6.24e14};
  PeakRates h100 = {6.7e13, 6.7e13, 9.89e14, 9.89e14, 1.979e15};
  return {
      {"dgx-v100",
       kind("v100", {7.8e12, 1.57e13, 1.25e14, 0, 6.2e13}, 0.85, 9e11, 16 * GB),
       8, nvlink(1.2e11), network("ethernet", 20000, 2.8e9, 2.8e9)},
      {"dgx-a100-40", kind("a100-40", a100, 0.869, 1.555e12, 40 * GB), 8,
       nvlink(2.46e11), network("infiniband", 1000, 2.25e10)},
      {"dgx-a100", kind("a100", a100, 0.869, 2.0e12, 80 * GB), 8,
       nvlink(2.46e11), network("infiniband", 1000, 2.25e10)},
      {"dgx-h100", kind("h100", h100, 0.803, 3.35e12, 80 * GB), 8,
       nvlink(3.7e11, 2.74e11), network("infiniband", 1000, 4.5e10)},
      {"dgx-h200", kind("h200", h100, 0.8, 4.8e12, 141 * GB), 8,
       nvlink(3.7e11, 2.74e11), network("infiniband", 1000, 4.5e10)},
      {"dgx-b200",
       kind("b200", {4e13, 8e13, 2.25e15, 2.25e15, 4.5e15}, 0.776, 8e12,
            180 * GB),
       8, nvlink(7.2e11, 4.83e11), network("infiniband", 1000, 4.5e10)},
      {"gb200-nvl72",
       kind("gb200", {4.5e13, 8e13, 2.5e15, 2.5e15, 5e15}, 0.729, 8e12,
            186 * GB),
       72, nvlink(7.2e11, 4.83e11), network("infiniband", 1000, 4.5e10)},
      {"l4",
       kind("l4", {0, 3.03e13, 1.21e14, 1.21e14, 2.42e14}, 0.8, 3e11, 24 * GB),
       8, pci(2.7e10), network("ethernet", 20000, 1.1e10, 1.1e10)},
      {"rtx4090",
       kind("rtx4090", {0, 8.26e13, 1.65e14, 1.65e14, 6.6e14}, 0.8, 1.008e12,
            24 * GB),
       8, pci(1.5e10), network("ethernet", 20000, 1.1e10, 1.1e10)},
      {"mi300x",
       kind("mi300x", {8.17e13, 1.634e14, 1.307e15, 1.307e15, 2.6e15}, 0.514,
            5.3e12, 192 * GB),
       8, nvlink(3.13e11), network("infiniband", 1000, 4.5e10)},
      {"tpu-v4",
       kind("tpu-v4", {0, 0.6875e14, 0, 2.75e14, 2.75e14}, 0.8, 1.2e12,
            32 * GB),
       64, nvlink(1.2e11), network("datacenter", 20000, 5.4e9)},
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
      .launchNanoseconds = 1000};
  DeviceKind thread = {.name = "cpu",
                       .peaks = {.f64 = 5e10, .f32 = 1.0e11},
                       .efficiency = 0.7,
                       .memoryBytesPerSecond = 2.0e10,
                       .memoryBytes = int64_t(16) << 30,
                       .launchNanoseconds = 1000};
  LinkLevel memory = {
      .name = "machine", .latencyNanoseconds = 5000, .bytesPerSecond = 8.0e9};
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
    return Status(ExitCode::Usage, "no cluster is called '" + name.str() +
                                       "', and no file; there are" + known);
  }
  if (count < 1 || count > Cluster::maxDevices) {
    return makeError(ExitCode::Usage, "the cluster '", name.str(), ":", count,
                     "' names no number of devices between 1 and ",
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
