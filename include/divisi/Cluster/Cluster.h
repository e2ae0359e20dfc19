//===- Cluster.h - The machine ----------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster is one kind of device and the links between them, level by level:
// two DGX nodes are 2 x 8 devices, fast links within a node and slow ones
// between nodes.
//
//   device h100   989 TFLOP/s bf16, 3.35 TB/s, 80 GB
//   level  node   8 devices, 450 GB/s
//   level  rack   2 nodes, 50 GB/s per device
//
// All numbers of a preset are assumptions, and can be printed.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_CLUSTER_H
#define DIVISI_CLUSTER_CLUSTER_H

#include "divisi/Layout/LinkCosts.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace divisi {

/// What a device computes in.
enum class Precision : uint8_t { F64, F32, F16, BF16, I8 };
/// `f64`, `f32`, `f16`, `bf16` or `i8`.
llvm::StringRef stringifyPrecision(Precision precision);

/// The peak of a device in one precision.
struct PeakRate {
  Precision precision = Precision::F32; ///< Of the operands.
  double flopsPerSecond = 0;            ///< Nominal.
  friend bool operator==(const PeakRate &, const PeakRate &) = default;
};

/// What all devices of a cluster can do.
struct DeviceKind {
  std::string name;                     ///< `h100`
  llvm::SmallVector<PeakRate, 4> peaks; ///< f32 at least.
  /// The part of the peak that large matrix products reach.
  double flopsEfficiency = 1;
  double memoryBytesPerSecond = 0; ///< Reached, not nominal.
  int64_t memoryBytes = 0;         ///< What a program may use.
  int64_t launchNanoseconds = 0;   ///< To start one operator.

  /// What is reached in `precision`; the rate of f32 where none is stated.
  double flopsPerSecond(Precision precision) const;
};

/// `fanout` groups of the level below (of devices, for the innermost) joined.
struct LinkLevel {
  std::string name;               ///< `nvlink`
  int64_t fanout = 1;             ///< How many are joined.
  int64_t latencyNanoseconds = 0; ///< Of one message.
  double bytesPerSecond = 0;      ///< Reached; per device, one direction.
};

/// A machine, or several.
struct Cluster {
  std::string name;  ///< The preset it was made from: `cpu:4`.
  DeviceKind device; ///< Every device is of this kind.
  llvm::SmallVector<LinkLevel, 2> levels; ///< Innermost first.

  /// The product of all fanouts.
  int64_t numDevices() const;
  /// The link that joins devices which are `stride` apart, `size` of them.
  AxisCost link(int64_t stride, int64_t size) const;
  /// One assumption per line.
  void print(llvm::raw_ostream &os) const;
};

/// The cluster that `spec` names: `cpu:N`, N threads-as-devices of one machine;
/// `dgx-h100:N`, N H100s, 8 in a node. On failure returns nothing and sets
/// `error`.
std::optional<Cluster> parseCluster(llvm::StringRef spec, std::string &error);

} // namespace divisi

#endif // DIVISI_CLUSTER_CLUSTER_H
