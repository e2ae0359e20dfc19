//===- Cluster.cpp - The machine ------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/Cluster.h"

#include "divisi/Support/Units.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace divisi {

llvm::StringRef stringifyPrecision(Precision precision) {
  constexpr llvm::StringRef names[] = {"f64", "f32", "f16", "bf16", "i8"};
  return names[unsigned(precision)];
}

double DeviceKind::flopsPerSecond(Precision precision) const {
  double single = 0;
  for (const PeakRate &peak : peaks) {
    if (peak.precision == precision) {
      return peak.flopsPerSecond * flopsEfficiency;
    }
    if (peak.precision == Precision::F32) {
      single = peak.flopsPerSecond * flopsEfficiency;
    }
  }
  return single;
}

int64_t Cluster::numDevices() const {
  int64_t count = 1;
  for (const LinkLevel &level : levels) {
    count *= level.fanout;
  }
  return count;
}

AxisCost Cluster::link(int64_t stride, int64_t size) const {
  int64_t reach = 1;
  for (const LinkLevel &level : levels) {
    reach *= level.fanout;
    if (stride * size <= reach || &level == &levels.back()) {
      return {level.latencyNanoseconds, level.bytesPerSecond};
    }
  }
  return {};
}

void Cluster::print(llvm::raw_ostream &os) const {
  os << "cluster " << name << ": " << numDevices() << " x " << device.name
     << '\n';
  for (const PeakRate &peak : device.peaks) {
    os << "  peak " << stringifyPrecision(peak.precision) << ": "
       << formatAmount(peak.flopsPerSecond, "FLOP/s") << "\n";
  }
  os << "  large products reach "
     << llvm::format("%.4g", device.flopsEfficiency * 100) << " % of the peak\n"
     << "  memory: " << formatAmount(device.memoryBytesPerSecond, "B/s") << ", "
     << formatBytes(double(device.memoryBytes)) << "\n"
     << "  launch of an operator: " << formatTime(device.launchNanoseconds)
     << "\n";
  for (const LinkLevel &level : levels) {
    os << "  level " << level.name << ": " << level.fanout << ", "
       << formatTime(level.latencyNanoseconds) << ", "
       << formatAmount(level.bytesPerSecond, "B/s")
       << " per device and direction\n";
  }
}

/// Threads of one machine: rates of a core of a small virtual machine, links
/// through shared memory.
static std::optional<Cluster> cpuCluster(int64_t count, std::string &) {
  Cluster cluster;
  cluster.device = {.name = "cpu",
                    .peaks = {{Precision::F32, 1.0e11}, {Precision::F64, 5e10}},
                    .flopsEfficiency = 0.7,
                    .memoryBytesPerSecond = 2.0e10,
                    .memoryBytes = int64_t(16) << 30,
                    .launchNanoseconds = 1000};
  cluster.levels = {{"machine", count, 5000, 8.0e9}};
  return cluster;
}

/// DGX H100: NVLink 450 GB/s of which rings reach 0.82, and one 400 Gb/s port
/// a GPU; 80 GB less what the driver and the communicators hold. A gather over
/// 2, 4, 8 GPUs takes 12, 19, 32 us however small (NCCL's Simple protocol: 8.4
/// us and 3.4 us a hop, 14 us between nodes); axes of 2 are near at 10 us each.
static std::optional<Cluster> dgxCluster(int64_t count, std::string &error) {
  constexpr int64_t kNode = 8;
  if (count > kNode && count % kNode != 0) {
    error = "a DGX node has 8 devices, so more than that come in multiples "
            "of 8, got " +
            std::to_string(count);
    return std::nullopt;
  }
  Cluster cluster;
  cluster.device = {.name = "h100",
                    .peaks = {{Precision::F32, 6.7e13},
                              {Precision::F16, 9.89e14},
                              {Precision::BF16, 9.89e14},
                              {Precision::I8, 1.979e15}},
                    .flopsEfficiency = 0.8,
                    .memoryBytesPerSecond = 3.0e12,
                    .memoryBytes = int64_t(78) * 1000 * 1000 * 1000,
                    .launchNanoseconds = 2000};
  cluster.levels = {{"nvlink", std::min(count, kNode), 10000, 3.7e11}};
  if (count > kNode) {
    cluster.levels.push_back({"infiniband", count / kNode, 22000, 4.5e10});
  }
  return cluster;
}

namespace {
struct Preset {
  llvm::StringRef name;
  std::optional<Cluster> (*make)(int64_t count, std::string &error);
};
} // namespace

/// A table of presets, so that a message can list them.
std::optional<Cluster> parseCluster(llvm::StringRef spec, std::string &error) {
  static constexpr Preset presets[] = {{"cpu", cpuCluster},
                                       {"dgx-h100", dgxCluster}};
  constexpr int64_t kMostDevices = 4096;
  auto [name, number] = spec.split(':');
  int64_t count = 0;
  if (number.getAsInteger(10, count) || count < 1 || count > kMostDevices) {
    error = "the cluster '" + spec.str() +
            "' names no number of devices between 1 and 4096; write for "
            "example cpu:4";
    return std::nullopt;
  }
  for (const Preset &preset : presets) {
    if (preset.name == name) {
      std::optional<Cluster> cluster = preset.make(count, error);
      if (cluster) {
        cluster->name = spec.str();
      }
      return cluster;
    }
  }
  error = "no cluster is called '" + name.str() + "'; there are";
  for (const Preset &preset : presets) {
    error += " " + preset.name.str() + ":N";
  }
  return std::nullopt;
}

} // namespace divisi
