//===- MachineProfile.h - This machine, measured ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds devices and the links between them, times products, memory, copies and
// collectives, and makes a cluster to plan for:
//
//   MachineProfiler profiler({.kind = Kind::Processor, .devices = 2}, tell);
//   Status status = profiler.run();
//   printClusterYAML(profiler.cluster(), os);
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROFILE_MACHINEPROFILE_H
#define DIVISI_PROFILE_MACHINEPROFILE_H

#include "divisi/Profile/MeasuredCluster.h"
#include "divisi/runtime/backends/cuda/GpuTopology.h"
#include "divisi/runtime/measure/Measure.h"

#include <chrono>
#include <functional>
#include <optional>

namespace divisi {

/// What is measured, and for how long.
struct ProfileRequest {
  std::optional<rt::GpuTopology> gpus; ///< Those to measure; none: threads.
  int64_t devices = 1;                 ///< Threads of this machine, or GPUs.
  int threads = 1;                     ///< Of each that is no GPU.
  bool tf32 = false;   ///< Whether f32 means what GPUs round to TF32.
  double seconds = 10; ///< For all of it, about.
  /// After which a device waits no longer for others.
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
};

/// One number.
struct Measurement {
  std::string what;  ///< `f32 products of 2048`
  std::string kind;  ///< Of the devices; empty: of all.
  std::string unit;  ///< `FLOP/s`, `B/s`, `ns`
  double value = 0;  ///< In that unit: a median.
  int64_t bytes = 0; ///< Of a collective or copy.
  size_t rounds = 0; ///< It is of so many.
};

/// See the file's head.
class MachineProfiler {
public:
  /// `tell` hears of each number once it is known.
  MachineProfiler(ProfileRequest request,
                  std::function<void(const Measurement &)> tell)
      : request_(std::move(request)), tell_(std::move(tell)) {}

  /// Measures all of it. Fails with Device.
  Status run();

  /// What was found, which verifyCluster accepts.
  const Cluster &cluster() const { return cluster_; }
  /// All numbers, in order.
  llvm::ArrayRef<Measurement> measurements() const { return measurements_; }
  /// What is not known, or is an assumption: whole sentences.
  llvm::ArrayRef<std::string> notes() const { return notes_; }

private:
  using Works = std::vector<std::unique_ptr<rt::DeviceWork>>;

  bool isOfGpus() const { return request_.gpus.has_value(); }
  Status openDevices();
  void connectDevices();
  void groupDevices();
  void noteUnknown();
  void noteBusy();
  int64_t smallestMemory() const;
  double secondsForEach() const;
  Status measureDevices();
  Status measureProducts(llvm::StringRef name, rt::DType type, bool rounds,
                         double PeakRates::*rate);
  Expected<int64_t> findEdge(rt::DType type, bool rounds);
  Status measureLaunch();
  Status measureProductLaunch();
  Status measureVectors();
  Status measureMemory();
  Status measureHostCopies();
  Expected<double> measurePeer(size_t peer);
  Status measureLevel(LinkLevel &level, int64_t below);
  Expected<rt::RoundTimes> timeAll(Works &works, double nanosecondsOfOne);
  Expected<Works> makeProducts(rt::DType type, bool rounds, int64_t edge);
  std::vector<const rt::Backend *> backends(bool rounds) const;
  void keep(Measurement measurement);
  void
  keepOfGroups(const Measurement &like, const rt::RoundTimes &times,
               const std::function<double(double nanoseconds)> &valueOf,
               const std::function<void(DeviceKind &kind, double value)> &give);

  ProfileRequest request_;
  std::function<void(const Measurement &)> tell_;
  std::vector<std::unique_ptr<rt::DeviceClock>> clocks_; ///< Of each device.
  std::shared_ptr<rt::Communicator> communicator_; ///< Null: none reaches them.
  Cluster cluster_;
  std::vector<Measurement> measurements_;
  std::vector<std::string> notes_;
  uint32_t nextNumber_ = 0; ///< Of a collective.
};

} // namespace divisi

#endif // DIVISI_PROFILE_MACHINEPROFILE_H
