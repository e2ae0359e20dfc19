//===- Measure.h - Measuring devices ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times the work of runs: kernels, copies and collectives, by the devices,
// backends and communicators that runs use. Devices share a machine, so all of
// them work at the same time, round by round, as they do in a run:
//
//   round       1        2        3
//   device 0   [---]    [--]     [---]
//   device 1   [--]     [--]     [----]
//
// A number is a median, of all of these or of the slowest one of each round.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_MEASURE_MEASURE_H
#define DIVISI_RUNTIME_MEASURE_MEASURE_H

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/device/Device.h"
#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt {

/// Nanoseconds, of each part in each round.
struct RoundTimes {
  std::vector<std::vector<double>> rounds; ///< Of each, one time per part.

  /// Of all times, or of those of some parts.
  double median(size_t firstPart = 0, size_t parts = SIZE_MAX) const;
  /// Of the longest time of each round.
  double medianOfLongest() const;
};

/// Lets `parts` threads work at the same time, each on its part: first once,
/// which does not count, then in rounds, at least five and until `seconds` are
/// over. `work` says how many nanoseconds it took; fails with the first
/// failure.
Expected<RoundTimes>
timeTogether(size_t parts, double seconds,
             const std::function<Expected<double>(size_t part)> &work);

/// Times work on a device.
class DeviceClock {
public:
  /// Of a device with a queue of its own. Fails as the device does.
  static Expected<std::unique_ptr<DeviceClock>>
  make(std::shared_ptr<Device> device);

  /// What is timed.
  Device &device() const { return *device_; }
  /// Null on the host.
  DeviceQueue *queue() const { return queue_.get(); }
  /// Memory of its space; zeros.
  Expected<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) const;
  /// Such of the host as it copies well from and to; zeros.
  Expected<std::shared_ptr<DeviceMemory>> allocateHost(int64_t bytes) const;
  /// Nanoseconds of what `put` puts on the queue once. It is put there `count`
  /// times, one behind the other. `check` is as for finish().
  Expected<double> time(const std::function<Status()> &put, int64_t count,
                        const std::function<Status()> &check = nullptr) const;
  /// Waits until what the queue has is done; or until `check`, which is asked
  /// again and again meanwhile, fails.
  Status finish(const std::function<Status()> &check = nullptr) const;

private:
  explicit DeviceClock(std::shared_ptr<Device> device)
      : device_(std::move(device)) {}

  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<DeviceEvent> event_;
};

/// Something that a device does again and again.
class DeviceWork {
public:
  virtual ~DeviceWork() = default;
  /// Puts it on the clock's queue once.
  virtual Status put() = 0;
};

/// A product of two square matrices of `edge` rows, by the first of `backends`
/// that has a kernel for it. Null if none has. Fails as the device does.
Expected<std::unique_ptr<DeviceWork>>
makeProduct(const DeviceClock &clock, std::span<const Backend *const> backends,
            DType type, int64_t edge, int threads);

/// The softmax of so many rows of f32, likewise.
Expected<std::unique_ptr<DeviceWork>>
makeSoftmax(const DeviceClock &clock, std::span<const Backend *const> backends,
            int64_t rows, int64_t columns, int threads);

/// Puts the next of `works`, at least one, each time: what one needs has left
/// the nearest caches when its turn comes, as in a model.
std::unique_ptr<DeviceWork>
takeTurns(std::vector<std::unique_ptr<DeviceWork>> works);

/// Copies `bytes` from one memory to another. Each is the device's own, or
/// another's, which lives as long.
Expected<std::unique_ptr<DeviceWork>>
makeCopy(const DeviceClock &clock, std::shared_ptr<DeviceMemory> source,
         std::shared_ptr<DeviceMemory> result, int64_t bytes);

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// A collective whose tensor has about so many bytes; at least 8 for each
/// member, of an all-to-all 4 for each two. All boxes are equal.
struct CollectiveCase {
  std::string_view kind; ///< "all_reduce", one of `collectiveKinds`.
  int64_t bytes = 0;     ///< What is asked for.

  /// The elements of the tensor, f32, that `members` have together.
  int64_t count(int64_t members) const;
  /// The bytes by which a collective is priced: of the tensor, but of an
  /// all-to-all what one member has.
  int64_t pricedBytes(int64_t members) const;
  /// The step of ranks 0 to `members` - 1.
  StepDesc describe(int64_t members) const;
};

/// What is measured of collectives.
inline constexpr std::string_view collectiveKinds[] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

/// The times of a collective among as many members as there are `devices`, of
/// which rank n has the n-th; `communicator` reaches their memories. Each has
/// another `number`. After a failure the communicator is of no more use.
Expected<RoundTimes>
timeCollective(Communicator &communicator,
               std::span<const std::unique_ptr<DeviceClock>> devices,
               const CollectiveCase &collective, uint32_t number,
               double seconds);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_MEASURE_MEASURE_H
