//===- Cluster.cpp - The machine ------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/Cluster.h"

#include "divisi/Cluster/ClusterFields.h"
#include "divisi/Cluster/InstructionSet.h"
#include "divisi/Support/CheckedMath.h"
#include "divisi/Support/Units.h"
#include "divisi/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

namespace divisi {

double DeviceKind::flopsPerSecond(Precision precision) const {
  const double rates[] = {peaks.f64, peaks.f32, peaks.f16, peaks.bf16,
                          peaks.i8};
  double stated = rates[unsigned(precision)];
  return (stated > 0 ? stated : peaks.f32) * efficiency;
}

double DeviceKind::vectorRate(Precision precision) const {
  return vectorFlopsPerSecond > 0 ? vectorFlopsPerSecond
                                  : flopsPerSecond(precision);
}

double DeviceKind::hostRate() const {
  return hostBytesPerSecond > 0 || computeCapability == 0 ? hostBytesPerSecond
                                                          : kAssumedHostRate;
}

bool DeviceKind::isProcessor() const {
  return name == "cpu" || !instructionSet.empty();
}

double MeasuredRate::nanoseconds() const {
  double sent = double(bytes) * double(members - 1) / double(members);
  double times = collective == Collective::AllReduce ? 2 : 1;
  return 1e9 * times * sent / busBytesPerSecond;
}

int64_t Cluster::numDevices() const {
  int64_t count = 0;
  for (const DeviceGroup &group : devices) {
    count += group.count;
  }
  return count;
}

/// The lesser of two rates of which 0 is not stated.
static double lesser(double a, double b, double aFallback, double bFallback) {
  if (a == 0 && b == 0) {
    return 0;
  }
  return std::min(a > 0 ? a : aFallback, b > 0 ? b : bFallback);
}

static DeviceKind slower(DeviceKind least, const DeviceKind &kind) {
  PeakRates a = least.peaks, b = kind.peaks;
  // Before the peaks change, which count where none is stated.
  double slowerVectors =
      lesser(least.vectorFlopsPerSecond, kind.vectorFlopsPerSecond,
             least.vectorRate(Precision::F32), kind.vectorRate(Precision::F32));
  least.name += "+" + kind.name;
  least.peaks = {.f64 = lesser(a.f64, b.f64, a.f32, b.f32),
                 .f32 = std::min(a.f32, b.f32),
                 .f16 = lesser(a.f16, b.f16, a.f32, b.f32),
                 .bf16 = lesser(a.bf16, b.bf16, a.f32, b.f32),
                 .i8 = lesser(a.i8, b.i8, a.f32, b.f32)};
  least.efficiency = std::min(least.efficiency, kind.efficiency);
  least.memoryBytesPerSecond =
      std::min(least.memoryBytesPerSecond, kind.memoryBytesPerSecond);
  least.memoryBytes = std::min(least.memoryBytes, kind.memoryBytes);
  least.launchNanoseconds =
      std::max(least.launchNanoseconds, kind.launchNanoseconds);
  least.productLaunchNanoseconds =
      std::max(least.productLaunchNanoseconds, kind.productLaunchNanoseconds);
  least.vectorFlopsPerSecond = slowerVectors;
  double ownRate = least.hostRate(), otherRate = kind.hostRate();
  least.hostBytesPerSecond = std::min(ownRate, otherRate);
  // The coarsest tiles and waves.
  least.multiprocessors = std::max(least.multiprocessors, kind.multiprocessors);
  least.tileEdge = std::max(least.tileEdge, kind.tileEdge);
  // What all of them can run; of something else nothing.
  least.computeCapability =
      std::min(least.computeCapability, kind.computeCapability);
  least.instructionSet =
      commonInstructionSet(least.instructionSet, kind.instructionSet).str();
  least.fuses &= kind.fuses;
  return least;
}

DeviceKind Cluster::pace() const {
  DeviceKind least = devices.front().kind;
  for (const DeviceGroup &group : llvm::drop_begin(devices)) {
    least = slower(std::move(least), group.kind);
  }
  return least;
}

DeviceKind Cluster::pace(llvm::ArrayRef<size_t> groups) const {
  std::optional<DeviceKind> least;
  for (auto [index, group] : llvm::enumerate(devices)) {
    if (llvm::is_contained(groups, index)) {
      least = least ? slower(std::move(*least), group.kind) : group.kind;
    }
  }
  return *least;
}

const DeviceKind &Cluster::kindOf(int64_t device) const {
  for (const DeviceGroup &group : devices) {
    if (device < group.count) {
      return group.kind;
    }
    device -= group.count;
  }
  return devices.back().kind;
}

bool Cluster::hasKinds() const {
  return llvm::any_of(devices, [&](const DeviceGroup &group) {
    return !(group.kind == devices.front().kind);
  });
}

int64_t Cluster::memoryLimit(const DeviceKind &kind,
                             std::optional<int64_t> given) const {
  if (!given) {
    return kind.memoryBytes;
  }
  return hasKinds() ? std::min(*given, kind.memoryBytes) : *given;
}

void Cluster::describeHost(llvm::StringRef instructionSet) {
  for (DeviceGroup &group : devices) {
    if (group.kind.name == "cpu" && group.kind.instructionSet.empty()) {
      group.kind.instructionSet = instructionSet.str();
    }
  }
}

int64_t Cluster::unitSize(size_t level) const {
  int64_t size = 1;
  for (const LinkLevel &joined : llvm::ArrayRef(levels).take_front(level + 1)) {
    size *= joined.fanout;
  }
  return size;
}

const LinkLevel *Cluster::machineLevel() const {
  bool hasOne =
      !levels.empty() && levels.front().transport != Transport::Network;
  return hasOne ? &levels.front() : nullptr;
}

int64_t Cluster::machineSize() const {
  return machineLevel() ? unitSize(0) : 1;
}

static void printDevices(const DeviceGroup &group, llvm::raw_ostream &os) {
  const DeviceKind &kind = group.kind;
  os << "  " << group.count << " x " << visibleLine(kind.name) << "\n";
  forEachField(kind.peaks, [&](llvm::StringRef name, double rate, bool) {
    if (rate > 0) {
      os << "    peak " << name << ": " << formatAmount(rate, "FLOP/s") << "\n";
    }
  });
  os << "    large products reach "
     << llvm::format("%.4g", kind.efficiency * 100) << " % of the peak\n"
     << "    memory: " << formatAmount(kind.memoryBytesPerSecond, "B/s") << ", "
     << formatBytes(double(kind.memoryBytes)) << "\n"
     << "    launch of an operator: " << formatTime(kind.launchNanoseconds);
  if (kind.productLaunchNanoseconds > 0) {
    os << ", of a product " << formatTime(kind.productLaunchNanoseconds)
       << " more";
  }
  os << "\n";
  if (kind.vectorFlopsPerSecond > 0) {
    os << "    outside of products: "
       << formatAmount(kind.vectorFlopsPerSecond, "FLOP/s") << "\n";
  }
  if (kind.hostRate() > 0) {
    os << "    copies to and from the host: "
       << formatAmount(kind.hostRate(), "B/s")
       << (kind.hostBytesPerSecond > 0 ? "" : " (assumed)") << "\n";
  }
  if (kind.multiprocessors > 0) {
    os << "    products make tiles of " << kind.tileEdge << " x "
       << kind.tileEdge << ", " << kind.multiprocessors << " at a time\n";
  }
  if (kind.computeCapability > 0) {
    os << "    NVIDIA GPUs, sm_" << kind.computeCapability << "\n";
  }
  if (kind.fuses) {
    os << "    elementwise operators are fused\n";
  }
}

static void printLevel(const LinkLevel &level, llvm::raw_ostream &os) {
  os << "  level " << visibleLine(level.name) << ": " << level.fanout << ", "
     << kTransportNames[unsigned(level.transport)] << ", "
     << formatTime(level.latencyNanoseconds) << ", "
     << formatAmount(level.bytesPerSecond, "B/s")
     << " per device and direction";
  auto rate = [&](llvm::StringRef before, double bytesPerSecond,
                  llvm::StringRef after) {
    if (bytesPerSecond > 0) {
      os << before << formatAmount(bytesPerSecond, "B/s") << after;
    }
  };
  rate(", ", level.unitBytesPerSecond, " for all that share a port");
  rate(", switches sum ", level.switchBytesPerSecond, "");
  rate(", ", level.peerBytesPerSecond, " to one peer");
  rate(", ", level.flaggedBytesPerSecond, " with flags");
  os << "\n";
  for (const MeasuredRate &point : level.measured) {
    os << "    measured " << kCollectiveNames[unsigned(point.collective)]
       << " of " << point.members << ": " << formatBytes(double(point.bytes))
       << " at " << formatAmount(point.busBytesPerSecond, "B/s") << "\n";
  }
}

void Cluster::print(llvm::raw_ostream &os) const {
  os << "cluster " << visibleLine(name) << "\n";
  for (const DeviceGroup &group : devices) {
    printDevices(group, os);
  }
  for (const LinkLevel &level : levels) {
    printLevel(level, os);
  }
}

//===----------------------------------------------------------------------===//
// What is no cluster
//===----------------------------------------------------------------------===//

namespace {
/// Looks at one number after the other and keeps the first that is wrong.
class NumberCheck {
public:
  explicit NumberCheck(std::string owner) : owner_(std::move(owner)) {}

  void positive(const char *what, double value) {
    expect(std::isfinite(value) && value > 0, what, value, "above 0");
  }
  void notNegative(const char *what, double value) {
    expect(std::isfinite(value) && value >= 0, what, value, "at least 0");
  }
  void expect(bool isRight, const char *what, double value,
              const char *expected) {
    if (!isRight && status_.isOk()) {
      status_ = makeError(ExitCode::Invalid, owner_, " has ", what, " ", value,
                          ", expected ", expected);
    }
  }
  Status status() const { return status_; }

private:
  std::string owner_;
  Status status_;
};
} // namespace

static Status verifyGroup(const DeviceGroup &group) {
  const DeviceKind &kind = group.kind;
  if (kind.name.empty()) {
    return Status(ExitCode::Invalid, "a kind of devices has no name");
  }
  if (!kind.instructionSet.empty() &&
      !findInstructionSet(kind.instructionSet)) {
    std::string known;
    for (const InstructionSet &set : instructionSets()) {
      known += (known.empty() ? "" : ", ") + set.name.str();
    }
    return Status(ExitCode::Invalid, "the kind of devices '" + kind.name +
                                         "' has the instruction_set '" +
                                         kind.instructionSet +
                                         "', expected one of " + known);
  }
  NumberCheck check("the kind of devices '" + kind.name + "'");
  check.expect(group.count >= 1 && group.count <= Cluster::maxDevices, "count",
               double(group.count), "1 to 4096");
  forEachField(kind.peaks, [&](const char *name, double rate,
                               bool mayBeMissing) {
    (mayBeMissing ? check.notNegative(name, rate) : check.positive(name, rate));
  });
  check.expect(kind.efficiency > 0 && kind.efficiency <= 1, "efficiency",
               kind.efficiency, "above 0 and at most 1");
  check.positive("memory_bytes_per_second", kind.memoryBytesPerSecond);
  check.positive("memory_bytes", double(kind.memoryBytes));
  check.notNegative("launch_nanoseconds", double(kind.launchNanoseconds));
  check.notNegative("product_launch_nanoseconds",
                    double(kind.productLaunchNanoseconds));
  check.notNegative("vector_flops_per_second", kind.vectorFlopsPerSecond);
  check.notNegative("host_bytes_per_second", kind.hostBytesPerSecond);
  check.notNegative("multiprocessors", double(kind.multiprocessors));
  check.expect(kind.multiprocessors > 0 ? kind.tileEdge > 0
                                        : kind.tileEdge == 0,
               "tile_edge", double(kind.tileEdge),
               "a number above 0 with multiprocessors, and 0 without");
  check.notNegative("compute_capability", double(kind.computeCapability));
  check.expect(kind.computeCapability <= 0 || kind.instructionSet.empty(),
               "compute_capability", double(kind.computeCapability),
               "0 with an instruction_set");
  return check.status();
}

/// `below` is how many devices a unit of the level below has.
static Status verifyMeasured(const LinkLevel &level, int64_t below) {
  NumberCheck check("the measurements of the level '" + level.name + "'");
  for (const MeasuredRate &point : level.measured) {
    check.expect(point.members >= 2 && point.members <= Cluster::maxDevices &&
                     point.members > below && point.members % below == 0,
                 "members", double(point.members),
                 "2 to 4096, several whole units of the level below");
    check.positive("bytes", double(point.bytes));
    check.positive("bus_bytes_per_second", point.busBytesPerSecond);
    check.notNegative("model_nanoseconds", double(point.modelNanoseconds));
  }
  for (size_t i = 0; i != level.measured.size() && check.status().isOk(); ++i) {
    const MeasuredRate &later = level.measured[i];
    auto before = llvm::ArrayRef(level.measured).take_front(i);
    auto earlier = llvm::find_if(llvm::reverse(before), [&](const auto &point) {
      return point.collective == later.collective &&
             point.members == later.members;
    });
    if (earlier == before.rend()) {
      continue;
    }
    check.expect(earlier->bytes < later.bytes, "bytes", double(later.bytes),
                 "more than in the point before, of the same collective and "
                 "members");
    check.expect(earlier->nanoseconds() <= later.nanoseconds(),
                 "bus_bytes_per_second", later.busBytesPerSecond,
                 "at most what takes as long as the point before, which has "
                 "fewer bytes");
  }
  return check.status();
}

static Status verifyLevel(const LinkLevel &level, int64_t below) {
  if (level.name.empty()) {
    return Status(ExitCode::Invalid, "a level of links has no name");
  }
  NumberCheck check("the level '" + level.name + "'");
  check.expect(level.fanout >= 1 && level.fanout <= Cluster::maxDevices,
               "fanout", double(level.fanout), "1 to 4096");
  check.notNegative("latency_nanoseconds", double(level.latencyNanoseconds));
  check.positive("bytes_per_second", level.bytesPerSecond);
  check.notNegative("unit_bytes_per_second", level.unitBytesPerSecond);
  check.notNegative("switch_bytes_per_second", level.switchBytesPerSecond);
  check.notNegative("peer_bytes_per_second", level.peerBytesPerSecond);
  check.notNegative("flagged_bytes_per_second", level.flaggedBytesPerSecond);
  return check.status().isOk() ? verifyMeasured(level, below) : check.status();
}

Status verifyCluster(const Cluster &cluster) {
  if (cluster.name.empty()) {
    return Status(ExitCode::Invalid, "the cluster has no name");
  }
  if (cluster.devices.empty()) {
    return Status(ExitCode::Invalid, "the cluster has no devices");
  }
  for (const DeviceGroup &group : cluster.devices) {
    if (Status status = verifyGroup(group); !status.isOk()) {
      return status;
    }
  }
  llvm::StringSet<> names;
  int64_t joined = 1;
  for (const LinkLevel &level : cluster.levels) {
    if (Status status = verifyLevel(level, joined); !status.isOk()) {
      return status;
    }
    if (!names.insert(level.name).second) {
      return Status(ExitCode::Invalid,
                    "the level '" + level.name + "' occurs twice");
    }
    joined = std::min(joined * level.fanout, int64_t(1) << 24);
  }
  int64_t count = cluster.numDevices();
  if (count > Cluster::maxDevices) {
    return makeError(ExitCode::Invalid, "the cluster has ", count,
                     " devices, expected at most ", Cluster::maxDevices);
  }
  if (joined < count) {
    return makeError(ExitCode::Invalid, "the cluster has ", count,
                     " devices, but its levels join only ", joined,
                     ": the product of all fanouts");
  }
  return Status();
}

} // namespace divisi
