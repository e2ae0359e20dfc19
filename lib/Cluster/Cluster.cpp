//===- Cluster.cpp - The machine ------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cluster/Cluster.h"

#include "divisi/Cluster/ClusterFields.h"
#include "divisi/Support/CheckedMath.h"
#include "divisi/Support/Units.h"

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

DeviceKind Cluster::pace() const {
  DeviceKind least = devices.front().kind;
  for (const DeviceGroup &group : llvm::drop_begin(devices)) {
    const DeviceKind &kind = group.kind;
    PeakRates a = least.peaks, b = kind.peaks;
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
  }
  return least;
}

int64_t Cluster::unitSize(size_t level) const {
  int64_t size = 1;
  for (const LinkLevel &joined : llvm::ArrayRef(levels).take_front(level + 1)) {
    size *= joined.fanout;
  }
  return size;
}

static void printDevices(const DeviceGroup &group, llvm::raw_ostream &os) {
  const DeviceKind &kind = group.kind;
  os << "  " << group.count << " x " << kind.name << "\n";
  forEachField(kind.peaks, [&](llvm::StringRef name, double rate, bool) {
    if (rate > 0) {
      os << "    peak " << name << ": " << formatAmount(rate, "FLOP/s") << "\n";
    }
  });
  os << "    large products reach "
     << llvm::format("%.4g", kind.efficiency * 100) << " % of the peak\n"
     << "    memory: " << formatAmount(kind.memoryBytesPerSecond, "B/s") << ", "
     << formatBytes(double(kind.memoryBytes)) << "\n"
     << "    launch of an operator: " << formatTime(kind.launchNanoseconds)
     << "\n";
}

void Cluster::print(llvm::raw_ostream &os) const {
  os << "cluster " << name << "\n";
  for (const DeviceGroup &group : devices) {
    printDevices(group, os);
  }
  for (const LinkLevel &level : levels) {
    os << "  level " << level.name << ": " << level.fanout << ", "
       << kTransportNames[unsigned(level.transport)] << ", "
       << formatTime(level.latencyNanoseconds) << ", "
       << formatAmount(level.bytesPerSecond, "B/s")
       << " per device and direction";
    if (level.unitBytesPerSecond > 0) {
      os << ", " << formatAmount(level.unitBytesPerSecond, "B/s")
         << " for all that share a port";
    }
    if (level.switchBytesPerSecond > 0) {
      os << ", switches sum "
         << formatAmount(level.switchBytesPerSecond, "B/s");
    }
    os << "\n";
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
  return check.status();
}

static Status verifyLevel(const LinkLevel &level) {
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
  return check.status();
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
    if (Status status = verifyLevel(level); !status.isOk()) {
      return status;
    }
    if (!names.insert(level.name).second) {
      return Status(ExitCode::Invalid,
                    "the level '" + level.name + "' stands twice");
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
