//===- Cluster.h - The machine ----------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster is its devices, numbered from 0, and the links between them, level
// by level: two DGX nodes are 2 x 8 devices, fast links within a node and slow
// ones between nodes.
//
//   devices            16 x h100: 989 TFLOP/s bf16, 3.35 TB/s, 80 GB
//   level  nvlink      8 devices, 450 GB/s
//   level  infiniband  2 nodes, 50 GB/s per device
//
// Devices 0 to 7 are the first unit of the first level, 8 to 15 the second, and
// so on upwards; the last unit of a level may have fewer. All numbers of a
// preset are assumptions: they can be printed, changed and read again
// (ClusterFile.h), and a planned module carries those it was planned with.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_CLUSTER_H
#define DIVISI_CLUSTER_CLUSTER_H

#include "divisi/Support/Status.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace divisi {

/// What a device computes in.
enum class Precision : uint8_t { F64, F32, F16, BF16, I8 };

/// Nominal FLOP/s by the type of the operands; 0: not stated.
struct PeakRates {
  double f64 = 0, f32 = 0, f16 = 0, bf16 = 0, i8 = 0; ///< Of operands.
  friend bool operator==(const PeakRates &, const PeakRates &) = default;
};

/// What a GPU's copies to and from the host are taken to reach where nobody
/// says it: PCIe 4 with 16 lanes.
inline constexpr double kAssumedHostRate = 2.5e10;

/// What one kind of device can do.
struct DeviceKind {
  std::string name; ///< `h100`
  PeakRates peaks;  ///< f32 at least.
  /// The part of the peak that large matrix products reach, above 0, at most 1.
  double efficiency = 1;
  double memoryBytesPerSecond = 0; ///< Reached, not nominal.
  int64_t memoryBytes = 0;         ///< What a program may use.
  int64_t launchNanoseconds = 0;   ///< To start one operator.
  /// More than that, to start one product of matrices: a library's call, and
  /// the first lines of its operands. An attention starts one for two heads.
  int64_t productLaunchNanoseconds = 0;
  /// FLOP/s reached outside of products, as by the exponentials of attention.
  /// 0: not stated; as fast as products.
  double vectorFlopsPerSecond = 0;
  /// Of copies between the memory of the host and its own, each way. 0: not
  /// stated (hostRate).
  double hostBytesPerSecond = 0;
  /// What works on one tile of a product at a time. 0: products make no tiles.
  int64_t multiprocessors = 0;
  int64_t tileEdge = 0; ///< Rows and columns of the result in one tile.
  /// Of a GPU of NVIDIA's, ten times: 90 of an H100. 0: it is none.
  int64_t computeCapability = 0;
  /// Of a processor: the name of what it can execute (InstructionSet.h). Empty:
  /// not stated.
  std::string instructionSet;
  /// Whether compiled kernels go on with an element that they have made, so
  /// that it need not go through memory.
  bool fuses = false;

  /// What is reached in `precision`; the rate of f32 where none is stated.
  double flopsPerSecond(Precision precision) const;
  /// What is reached outside of products, computing in `precision`.
  double vectorRate(Precision precision) const;
  /// What copies between the memory of the host and its own reach: of a GPU of
  /// NVIDIA's that states nothing kAssumedHostRate. 0: they are not priced, as
  /// of a processor, whose memory is the host's.
  double hostRate() const;
  /// Whether it works by the kernels of processors: it is called `cpu`, or
  /// states an instruction set.
  bool isProcessor() const;
  friend bool operator==(const DeviceKind &, const DeviceKind &) = default;
};

/// So many devices of a kind, next to each other.
struct DeviceGroup {
  int64_t count = 0; ///< At least 1.
  DeviceKind kind;   ///< What all of them are.
  friend bool operator==(const DeviceGroup &, const DeviceGroup &) = default;
};

/// What carries messages, and with that the software that sends them: threads
/// through memory, or NCCL.
enum class Transport : uint8_t { Memory, NvLink, Pci, Network };

/// What a group does together.
enum class Collective : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll
};

/// What somebody measured: a collective of so many devices, which fill units of
/// the levels below.
struct MeasuredRate {
  Collective collective = Collective::AllReduce; ///< What was done.
  int64_t members = 0;                           ///< At least 2.
  int64_t bytes = 0; ///< Of the whole tensor; of an all-to-all one member's.
  /// Bytes that each member sends of a ring, by the time: for an all-reduce
  /// 2(n-1)/n of the tensor, for others (n-1)/n.
  double busBytesPerSecond = 0;
  /// What the model says of it at the rates at which it was measured
  /// (docs/rationale-cost.md): these may be edited since. 0: not stated.
  int64_t modelNanoseconds = 0;

  /// What it took.
  double nanoseconds() const;
  friend bool operator==(const MeasuredRate &, const MeasuredRate &) = default;
};

/// `fanout` units of the level below (devices, for the innermost) joined.
struct LinkLevel {
  std::string name;   ///< `nvlink`
  int64_t fanout = 1; ///< How many are joined, at most.
  /// By what messages between its units go.
  Transport transport = Transport::Memory;
  /// Of one message; of NCCL's transports what the link adds to NCCL's own.
  int64_t latencyNanoseconds = 0;
  double bytesPerSecond = 0; ///< Reached; per device, one direction.
  /// What all devices of one unit of the level below share, as those of a node
  /// do with one port: bytes per second in one direction. 0: nothing.
  double unitBytesPerSecond = 0;
  /// Bytes of a tensor that switches sum per second in an all-reduce of more
  /// than four. 0: they cannot.
  double switchBytesPerSecond = 0;
  /// What one device sends one other, where that is not `bytesPerSecond`. Of a
  /// group each member sends to all others at most at this rate. 0: as fast as
  /// all others.
  double peerBytesPerSecond = 0;
  /// What a ring carries with a flag beside every 4 bytes (NCCL's LL), at most.
  /// 0: half of what it carries without.
  double flaggedBytesPerSecond = 0;
  /// Maps the model's prices to what was measured; bytes ascend for each
  /// collective and number of members.
  llvm::SmallVector<MeasuredRate, 0> measured;
  friend bool operator==(const LinkLevel &, const LinkLevel &) = default;
};

/// A machine, or several.
struct Cluster {
  std::string name; ///< The preset it was made from, `cpu:4`, or a file's.
  llvm::SmallVector<DeviceGroup, 1> devices; ///< Numbered in this order.
  llvm::SmallVector<LinkLevel, 2> levels;    ///< Innermost first.

  /// The most devices that a cluster may have.
  static constexpr int64_t maxDevices = 4096;

  /// Of all groups.
  int64_t numDevices() const;
  /// What every device can do: of each rate and of memory the least. Equal
  /// shards go at this pace.
  DeviceKind pace() const;
  /// The same of those of `groups`, by their places in `devices`; at least one.
  DeviceKind pace(llvm::ArrayRef<size_t> groups) const;
  /// What `device` is; one beyond the last is one more of the last group.
  const DeviceKind &kindOf(int64_t device) const;
  /// Whether there are devices of more than one kind.
  bool hasKinds() const;
  /// The bytes that a device of `kind` may hold where a user has `given` a
  /// limit or not. Where there are kinds, none holds more than it has.
  int64_t memoryLimit(const DeviceKind &kind,
                      std::optional<int64_t> given) const;
  /// The devices in a whole unit of `level`.
  int64_t unitSize(size_t level) const;
  /// The innermost level, whose units are taken for machines; null: there is
  /// none, or it is a network, and each device is a machine.
  const LinkLevel *machineLevel() const;
  /// The devices in a whole machine.
  int64_t machineSize() const;
  /// Lets kinds called `cpu` that state no instruction set have that of the
  /// machine that compiles, which is called `instructionSet`.
  void describeHost(llvm::StringRef instructionSet);
  /// One assumption per line.
  void print(llvm::raw_ostream &os) const;
  friend bool operator==(const Cluster &, const Cluster &) = default;
};

/// ExitCode::Invalid for a number that cannot be, for more devices than the
/// levels join or than maxDevices, for no device, or for names that are missing
/// or stand twice.
Status verifyCluster(const Cluster &cluster);

/// The names of all presets, in the order of messages.
llvm::SmallVector<llvm::StringRef, 16> clusterPresets();

/// The cluster of `count` devices that is called `name`: `cpu`, threads of one
/// machine as devices; `dgx-h100`, eight H100s in a node. ExitCode::Usage if
/// there is none, or none of that size.
Expected<Cluster> presetCluster(llvm::StringRef name, int64_t count);

} // namespace divisi

#endif // DIVISI_CLUSTER_CLUSTER_H
