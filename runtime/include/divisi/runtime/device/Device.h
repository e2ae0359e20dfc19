//===- Device.h - Memory spaces, and work in them ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of a rank is in memory spaces: that of the host, and that of its
// device, if that has its own memory. A kernel names the one space of all its
// buffers; data in another space is copied first, by an instruction.
//
// A device works in queues: what is put on one begins when all before it there
// has ended, and the call that puts it there returns at once. An event is a
// point of a queue. Other queues can wait for it, and the host can ask whether
// it has been reached, which is all that they need of each other:
//
//   host          copyBox  record(a)  wait(a)  launch  record(b)  … poll(b)
//   queue "copy"  ···[copy]·····a
//   queue "compute"             └────·[kernel]·b
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_DEVICE_DEVICE_H
#define DIVISI_RUNTIME_DEVICE_DEVICE_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/device/Box.h"
#include "divisi/runtime/device/Reduce.h"

#include <functional>
#include <memory>

namespace divisi::rt {

class PreparedKernel;

/// Bytes of a memory space, freed with the object.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// Where they begin, aligned to 64; null if there are none. For who cannot
  /// reach the space it is a number to be handed on.
  std::byte *data() const { return data_; }
  /// How many they are.
  int64_t size() const { return size_; }

protected:
  DeviceMemory(std::byte *data, int64_t size) : data_(data), size_(size) {}

private:
  std::byte *data_;
  int64_t size_;
};

/// Work that is done in order: a stream. Each device has a class of its own. It
/// is destroyed when it has no work.
class DeviceQueue {
public:
  virtual ~DeviceQueue() = default;
};

/// A point of a queue, recorded anew in each run.
class DeviceEvent {
public:
  virtual ~DeviceEvent() = default;
};

/// Work that was recorded, with the addresses that it had.
class DeviceGraph {
public:
  virtual ~DeviceGraph() = default;
};

/// What a rank computes on, and the memory that it has. One thread calls it at
/// a time. Whatever fails on it fails with Device: in the call that asks for
/// it, or in a later poll().
class Device {
public:
  virtual ~Device() = default;
  /// As artifacts and backends name it: "host", "cuda".
  virtual std::string_view space() const = 0;
  /// Whether work has ended when the call that asks for it returns: there are
  /// then neither queues nor events.
  virtual bool isImmediate() const { return false; }

  /// What its memory is: devices that return the same reach what each of them
  /// has allocated. Null: no other device does.
  virtual const void *memoryId() const { return nullptr; }

  /// Bytes of its space, of any value.
  virtual Expected<std::unique_ptr<DeviceMemory>> allocate(int64_t bytes) = 0;
  /// Bytes of the host that its copies reach well (pinned ones); the rank's
  /// arena of the host is made of them.
  virtual Expected<std::unique_ptr<DeviceMemory>> allocateHost(int64_t bytes);
  /// A queue; null if the device is immediate, as those that are handed in.
  virtual Expected<std::unique_ptr<DeviceQueue>> makeQueue() = 0;
  /// An event that nobody has recorded.
  virtual Expected<std::unique_ptr<DeviceEvent>> makeEvent() = 0;

  /// Brings here what launches of `kernel`, of a backend for its space, need:
  /// code, handles and choices of libraries, memory of the host. It comes
  /// before all launches, and before steps between devices: it may wait for all
  /// work of the device, and that for other ranks.
  virtual Status makeReady(PreparedKernel & /*kernel*/) { return {}; }

  /// Copies a piece of one box to another. Each lies in its space or in that of
  /// the host, and stays there until the copy has ended; `copy` need not.
  virtual Status copyBox(DeviceQueue *queue, const BoxCopy &copy,
                         const void *source, void *result) = 0;
  /// fillNeutral() of bytes of its space, or of allocateHost().
  virtual Status fill(DeviceQueue *queue, DType type, ReduceKind kind,
                      void *result, int64_t count) = 0;
  /// Makes `event` the point of `queue` behind all that it has now.
  virtual Status record(DeviceQueue &queue, DeviceEvent &event) = 0;
  /// What `queue` gets from now on begins when `event`, which has been
  /// recorded, has been reached. Returns at once.
  virtual Status wait(DeviceQueue &queue, DeviceEvent &event) = 0;
  /// Whether `event`, which has been recorded, has been reached: what the queue
  /// did before is then seen by the calling thread. Where it fails, nothing
  /// that was put on the queue before touches memory any more.
  virtual Expected<bool> poll(DeviceEvent &event) = 0;

  /// Whether beginGraph() and what belongs to it can be called.
  virtual bool hasGraphs() const { return false; }
  /// From now on what `queue` is given is recorded instead of done, and so is
  /// what others are given that wait for an event of it. Until the end the
  /// thread asks the device for nothing else than such work, events and waits.
  /// What was on the queues before is not waited for.
  virtual Status beginGraph(DeviceQueue & /*queue*/) { return noGraphs(); }
  /// Ends that; `queue` has waited for all that others were given. Fails where
  /// something was not to be recorded: nothing is left of it then.
  virtual Expected<std::unique_ptr<DeviceGraph>> endGraph(DeviceQueue &) {
    return noGraphs();
  }
  /// Does all of it on `queue`, in the order that queues and events gave it.
  virtual Status run(DeviceQueue & /*queue*/, DeviceGraph & /*graph*/) {
    return noGraphs();
  }

private:
  static Status noGraphs() {
    return makeError(ExitCode::Internal, "the device records no work");
  }
};

/// The host: immediate, with the memory that every thread has.
std::shared_ptr<Device> makeHostDevice();

/// The device of a rank that has the memory space of that name, or null.
using DeviceFactory = std::function<Expected<std::shared_ptr<Device>>(
    uint32_t rank, std::string_view space)>;

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_DEVICE_DEVICE_H
