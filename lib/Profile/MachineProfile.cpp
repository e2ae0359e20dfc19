//===- MachineProfile.cpp - This machine, measured ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/MachineProfile.h"

#include "divisi/Cluster/ClusterFields.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/runtime/backends/cuda/CudaBackend.h"
#include "divisi/runtime/comm/Spin.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/comm/nccl/NcclCommunicator.h"
#include "divisi/runtime/measure/HostFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cstdlib>
#include <numeric>
#include <thread>

using namespace llvm;
using namespace divisi;

static constexpr int64_t MiB = 1 << 20;

/// The tensors of collectives; the first one is as small as can be.
static ArrayRef<int64_t> collectiveSizes(bool ofGpus) {
  static constexpr int64_t threads[] = {0, MiB / 16, MiB, 16 * MiB};
  static constexpr int64_t gpus[] = {0, MiB, 16 * MiB, 256 * MiB};
  return ofGpus ? ArrayRef(gpus) : ArrayRef(threads);
}

void MachineProfiler::keep(Measurement measurement) {
  measurement.value = fourDigits(measurement.value);
  tell_(measurement);
  measurements_.push_back(std::move(measurement));
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

Status MachineProfiler::openDevices() {
  for (int64_t number = 0; number < request_.devices; ++number) {
    auto device = isOfGpus() ? rt::makeCudaDevice(int(number))
                             : divisi::Expected<std::shared_ptr<rt::Device>>(
                                   rt::makeHostDevice());
    if (!device) {
      return device.status();
    }
    auto clock = rt::DeviceClock::make(std::move(*device));
    if (!clock) {
      return clock.status();
    }
    clocks_.push_back(std::move(*clock));
  }
  return {};
}

/// What devices meet by: threads by memory, GPUs by NCCL where it is there.
void MachineProfiler::connectDevices() {
  if (request_.devices == 1) {
    return;
  }
  bool hasCores = request_.devices * request_.threads <=
                  int64_t(std::thread::hardware_concurrency());
  communicator_ = rt::makeInprocCommunicator(
      request_.timeout,
      hasCores ? rt::spinLimit : std::chrono::microseconds(0));
  if (!isOfGpus()) {
    return;
  }
  if (Status status = rt::findNccl(); !status.isOk()) {
    communicator_ = nullptr;
    notes_.push_back("no collectives are measured: " + status.message() +
                     "; rates of links are those of copies");
    return;
  }
  std::vector<uint32_t> ranks(size_t(request_.devices));
  std::iota(ranks.begin(), ranks.end(), 0U);
  rt::CommunicatorRequest request{.numRanks = uint32_t(ranks.size()),
                                  .localRanks = ranks,
                                  .timeout = request_.timeout};
  communicator_ = rt::makeNcclCommunicator(std::move(communicator_), request);
}

/// What the driver and communicators take of a GPU, as in the presets; of a
/// small one no more than a tenth.
static int64_t usableBytes(int64_t bytes) {
  constexpr int64_t taken = 2'000'000'000;
  return bytes - std::min(taken, bytes / 10);
}

static DeviceKind kindOf(const rt::GpuFacts &gpu) {
  return {.name = gpu.name,
          .memoryBytes = usableBytes(gpu.memoryBytes),
          .multiprocessors = gpu.multiprocessors,
          .tileEdge = gpu.multiprocessors > 0 ? 128 : 0,
          .computeCapability = gpu.capability,
          .fuses = true};
}

/// Devices of one kind that stand next to each other are one group; all numbers
/// of a kind are then measured.
void MachineProfiler::groupDevices() {
  cluster_.name = (isOfGpus() ? "gpu:" : "cpu:") +
                  std::to_string(request_.devices) + " as measured";
  if (!isOfGpus()) {
    DeviceKind thread = {.name = "cpu",
                         .memoryBytes =
                             rt::hostMemoryBytes() / request_.devices,
                         .instructionSet = hostInstructionSet(),
                         .fuses = true};
    cluster_.devices = {{request_.devices, thread}};
    return;
  }
  for (const rt::GpuFacts &gpu :
       ArrayRef(request_.gpus->gpus).take_front(size_t(request_.devices))) {
    DeviceKind kind = kindOf(gpu);
    if (!cluster_.devices.empty() && cluster_.devices.back().kind == kind) {
      ++cluster_.devices.back().count;
    } else {
      cluster_.devices.push_back({1, kind});
    }
  }
  notes_.push_back("tile_edge is not measured: tiles of 128 x 128 are assumed");
}

static DevicePath pathOf(rt::GpuPath path) {
  return path == rt::GpuPath::NvLink ? DevicePath::NvLink
         : path == rt::GpuPath::Pci  ? DevicePath::Pci
                                     : DevicePath::Unknown;
}

/// Of each two devices; of threads all meet in memory.
static std::vector<DevicePath> pathsOf(const ProfileRequest &request) {
  auto count = size_t(request.devices);
  std::vector<DevicePath> paths(count * count, DevicePath::Memory);
  for (size_t pair = 0; request.gpus && pair < paths.size(); ++pair) {
    paths[pair] = pathOf(request.gpus->path(pair / count, pair % count));
  }
  return paths;
}

int64_t MachineProfiler::smallestMemory() const {
  return cluster_.pace().memoryBytes;
}

/// Each number is given as long.
double MachineProfiler::secondsForEach() const {
  size_t perLevel = !communicator_ ? 0
                                   : std::size(rt::collectiveKinds) *
                                         collectiveSizes(isOfGpus()).size();
  size_t numbers = (isOfGpus() ? 7 : 9) + // products, starts, memory, vectors
                   perLevel * cluster_.levels.size();
  numbers += isOfGpus() ? 2 + size_t(request_.devices) : 0; // tf32, copies
  return request_.seconds / double(numbers);
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// From the first GPU to another; 0 where there are no GPUs.
divisi::Expected<double> MachineProfiler::measurePeer(size_t peer) {
  if (!isOfGpus()) {
    return 0.0;
  }
  int64_t bytes = std::min(64 * MiB, smallestMemory() / 16);
  auto source = clocks_[0]->allocate(bytes);
  auto result = clocks_[peer]->allocate(bytes);
  if (!source || !result) {
    return source ? result.status() : source.status();
  }
  Works works;
  works.push_back(
      std::move(*rt::makeCopy(*clocks_[0], *source, *result, bytes)));
  auto times = timeAll(works, 1e6);
  if (!times) {
    return times.status();
  }
  keep({"copies from device 0 to " + std::to_string(peer), "", "B/s",
        1e9 * double(bytes) / times->median(), bytes, times->rounds.size()});
  return measurements_.back().value;
}

/// All collectives among the devices of its first unit, of which one of the
/// level below has so many.
Status MachineProfiler::measureLevel(LinkLevel &level, int64_t below) {
  int64_t members = below * level.fanout;
  auto peer = measurePeer(size_t(below));
  if (!peer) {
    return peer.status();
  }
  std::vector<CollectiveTime> all;
  for (auto [number, kind] : enumerate(rt::collectiveKinds)) {
    for (int64_t wanted :
         communicator_ ? collectiveSizes(isOfGpus()) : ArrayRef<int64_t>()) {
      rt::CollectiveCase collective{kind,
                                    std::min(wanted, smallestMemory() / 16)};
      int64_t bytes = collective.pricedBytes(members);
      if (!all.empty() && all.back().collective == Collective(number) &&
          bytes <= all.back().bytes) {
        continue; // the devices have no room for a larger one
      }
      auto times = rt::timeCollective(
          *communicator_, ArrayRef(clocks_).take_front(size_t(members)),
          collective, nextNumber_++, secondsForEach());
      if (!times) {
        return times.status();
      }
      keep({(Twine(std::string(kind)) + " of " + Twine(members)).str(), "",
            "ns", times->medianOfLongest(), bytes, times->rounds.size()});
      all.push_back({Collective(number), bytes, measurements_.back().value});
    }
  }
  fitLevel(level, members, all, *peer);
  return {};
}

void MachineProfiler::noteUnknown() {
  if (!isOfGpus() || request_.devices == 1) {
    return;
  }
  if (!request_.gpus->unknown.empty()) {
    notes_.push_back(
        "the links between the GPUs are not known: " + request_.gpus->unknown +
        "; transport stays memory, its default, which prices by "
        "latency and rate alone");
  }
}

void MachineProfiler::noteBusy() {
  auto processors = int64_t(std::thread::hardware_concurrency());
  int64_t used =
      isOfGpus() ? request_.devices : request_.devices * request_.threads;
  double load = 0;
  if (getloadavg(&load, 1) == 1) {
    if (auto note = noteOfLoad(load, processors, std::min(used, processors))) {
      notes_.push_back(*note);
    }
  }
}

Status MachineProfiler::run() {
  noteBusy();
  groupDevices();
  FoundLevels found = findLevels(pathsOf(request_), request_.devices);
  cluster_.levels = std::move(found.levels);
  append_range(notes_, found.notes);
  if (Status status = openDevices(); !status.isOk()) {
    return status;
  }
  connectDevices();
  noteUnknown();
  if (Status status = measureDevices(); !status.isOk()) {
    return status;
  }
  int64_t below = 1;
  for (LinkLevel &level : cluster_.levels) {
    if (Status status = measureLevel(level, below); !status.isOk()) {
      return status;
    }
    below *= level.fanout;
  }
  return verifyCluster(cluster_);
}
