//===- ClusterFields.h - Field names of clusters ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list of member names, for files and for a module's attribute. `field`
// gets the name and a reference of a member, and whether it may be missing.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_CLUSTERFIELDS_H
#define DIVISI_CLUSTER_CLUSTERFIELDS_H

#include "divisi/Cluster/Cluster.h"

#include <concepts>

namespace divisi {

/// `T`, const or not.
template <typename X, typename T>
concept Is = std::same_as<std::remove_const_t<X>, T>;

/// What has fields.
template <typename X>
concept ClusterPart = Is<X, PeakRates> || Is<X, DeviceGroup> ||
                      Is<X, MeasuredRate> || Is<X, LinkLevel> || Is<X, Cluster>;

/// The words for transports, by their number.
inline constexpr llvm::StringLiteral kTransportNames[] = {"memory", "nvlink",
                                                          "pci", "network"};

/// The words for collectives, by their number.
inline constexpr llvm::StringLiteral kCollectiveNames[] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

/// FLOP/s, by the type of the operands.
template <Is<PeakRates> T> void forEachField(T &peaks, auto field) {
  field("f64", peaks.f64, true);
  field("f32", peaks.f32, false);
  field("f16", peaks.f16, true);
  field("bf16", peaks.bf16, true);
  field("i8", peaks.i8, true);
}

/// A group and its kind, side by side.
template <Is<DeviceGroup> T> void forEachField(T &group, auto field) {
  field("count", group.count, false);
  field("kind", group.kind.name, false);
  field("peak_flops_per_second", group.kind.peaks, false);
  field("efficiency", group.kind.efficiency, true);
  field("memory_bytes_per_second", group.kind.memoryBytesPerSecond, false);
  field("memory_bytes", group.kind.memoryBytes, false);
  field("launch_nanoseconds", group.kind.launchNanoseconds, true);
  field("product_launch_nanoseconds", group.kind.productLaunchNanoseconds,
        true);
  field("vector_flops_per_second", group.kind.vectorFlopsPerSecond, true);
  field("host_bytes_per_second", group.kind.hostBytesPerSecond, true);
  field("multiprocessors", group.kind.multiprocessors, true);
  field("tile_edge", group.kind.tileEdge, true);
  field("compute_capability", group.kind.computeCapability, true);
  field("instruction_set", group.kind.instructionSet, true);
  field("fuses", group.kind.fuses, true);
}

/// A point of a curve.
template <Is<MeasuredRate> T> void forEachField(T &point, auto field) {
  field("collective", point.collective, false);
  field("members", point.members, false);
  field("bytes", point.bytes, false);
  field("bus_bytes_per_second", point.busBytesPerSecond, false);
  field("model_nanoseconds", point.modelNanoseconds, true);
}

/// A level.
template <Is<LinkLevel> T> void forEachField(T &level, auto field) {
  field("name", level.name, false);
  field("fanout", level.fanout, false);
  field("transport", level.transport, true);
  field("latency_nanoseconds", level.latencyNanoseconds, true);
  field("bytes_per_second", level.bytesPerSecond, false);
  field("unit_bytes_per_second", level.unitBytesPerSecond, true);
  field("switch_bytes_per_second", level.switchBytesPerSecond, true);
  field("peer_bytes_per_second", level.peerBytesPerSecond, true);
  field("flagged_bytes_per_second", level.flaggedBytesPerSecond, true);
  field("measured", level.measured, true);
}

/// All of it.
template <Is<Cluster> T> void forEachField(T &cluster, auto field) {
  field("name", cluster.name, false);
  field("devices", cluster.devices, false);
  field("levels", cluster.levels, true);
}

} // namespace divisi

#endif // DIVISI_CLUSTER_CLUSTERFIELDS_H
