//===- DeviceClock.cpp - Work on a device, timed --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/measure/Measure.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;

using Clock = std::chrono::steady_clock;

Expected<std::unique_ptr<DeviceClock>>
DeviceClock::make(std::shared_ptr<Device> device) {
  std::unique_ptr<DeviceClock> made(new DeviceClock(std::move(device)));
  auto queue = made->device_->makeQueue();
  if (!queue) {
    return queue.status();
  }
  made->queue_ = std::move(*queue);
  auto event = made->device_->makeEvent();
  if (!event) {
    return event.status();
  }
  made->event_ = std::move(*event);
  return made;
}

Expected<std::shared_ptr<DeviceMemory>>
DeviceClock::allocate(int64_t bytes) const {
  auto memory = device_->allocate(bytes);
  if (!memory) {
    return memory.status();
  }
  // The host has no page before it is written to.
  Status status = device_->fill(queue_.get(), DType::U8, ReduceKind::Sum,
                                (*memory)->data(), bytes);
  status = status.isOk() ? finish() : status;
  return status.isOk()
             ? Expected(std::shared_ptr<DeviceMemory>(std::move(*memory)))
             : status;
}

Expected<std::shared_ptr<DeviceMemory>>
DeviceClock::allocateHost(int64_t bytes) const {
  auto memory = device_->allocateHost(bytes);
  if (!memory) {
    return memory.status();
  }
  std::memset((*memory)->data(), 0, size_t(bytes));
  return std::shared_ptr<DeviceMemory>(std::move(*memory));
}

Status DeviceClock::finish(const std::function<Status()> &check) const {
  if (device_->isImmediate()) {
    return {};
  }
  Status status = device_->record(*queue_, *event_);
  while (status.isOk()) {
    Expected<bool> isReached = device_->poll(*event_);
    if (!isReached || *isReached) {
      return isReached.status();
    }
    status = check ? check() : status;
  }
  return status;
}

Expected<double> DeviceClock::time(const std::function<Status()> &put,
                                   int64_t count,
                                   const std::function<Status()> &check) const {
  auto begin = Clock::now();
  for (int64_t i = 0; i < count; ++i) {
    if (Status status = put(); !status.isOk()) {
      return status;
    }
  }
  if (Status status = finish(check); !status.isOk()) {
    return status;
  }
  std::chrono::duration<double, std::nano> all = Clock::now() - begin;
  // A clock that has not gone on says nothing, and is no reason to divide by 0.
  return std::max(all.count(), 1.0) / double(count);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static BoxCopy copyOfBytes(int64_t bytes) {
  Box all = Box::whole({bytes});
  return BoxCopy(1, all, all, all);
}

namespace {

class CopyWork final : public DeviceWork {
public:
  CopyWork(const DeviceClock &clock, std::shared_ptr<DeviceMemory> source,
           std::shared_ptr<DeviceMemory> result, int64_t bytes)
      : clock_(clock), source_(std::move(source)), result_(std::move(result)),
        copy_(copyOfBytes(bytes)) {}
  Status put() override {
    return clock_.device().copyBox(clock_.queue(), copy_, source_->data(),
                                   result_->data());
  }

private:
  const DeviceClock &clock_;
  std::shared_ptr<DeviceMemory> source_, result_;
  BoxCopy copy_;
};

} // namespace

Expected<std::unique_ptr<DeviceWork>>
divisi::rt::makeCopy(const DeviceClock &clock,
                     std::shared_ptr<DeviceMemory> source,
                     std::shared_ptr<DeviceMemory> result, int64_t bytes) {
  return std::unique_ptr<DeviceWork>(std::make_unique<CopyWork>(
      clock, std::move(source), std::move(result), bytes));
}
