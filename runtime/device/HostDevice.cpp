//===- HostDevice.cpp - The host as a device ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/device/Device.h"
#include "divisi/runtime/kernels/HostTensor.h"

using namespace divisi;
using namespace divisi::rt;

namespace {

class HostMemory : public DeviceMemory {
public:
  explicit HostMemory(AlignedBytes bytes)
      : DeviceMemory(bytes.data(), bytes.size()), bytes_(std::move(bytes)) {}

private:
  AlignedBytes bytes_;
};

class HostDevice : public Device {
public:
  std::string_view space() const override { return hostSpace; }
  bool isImmediate() const override { return true; }
  Expected<std::unique_ptr<DeviceMemory>> allocate(int64_t bytes) override {
    return allocateHost(bytes);
  }
  Expected<std::unique_ptr<DeviceQueue>> makeQueue() override {
    return std::unique_ptr<DeviceQueue>();
  }
  Expected<std::unique_ptr<DeviceEvent>> makeEvent() override {
    return std::unique_ptr<DeviceEvent>();
  }
  Status copyBox(DeviceQueue *, const BoxCopy &copy, const void *source,
                 void *result) override {
    copy.run(static_cast<const std::byte *>(source),
             static_cast<std::byte *>(result));
    return {};
  }
  Status fill(DeviceQueue *, DType type, ReduceKind kind, void *result,
              int64_t count) override {
    fillNeutral(type, kind, result, count);
    return {};
  }
  Status record(DeviceQueue &, DeviceEvent &) override { return {}; }
  Status wait(DeviceQueue &, DeviceEvent &) override { return {}; }
  Expected<bool> poll(DeviceEvent &) override { return true; }
};

} // namespace

Expected<std::unique_ptr<DeviceMemory>> Device::allocateHost(int64_t bytes) {
  Expected<AlignedBytes> made = AlignedBytes::allocate(bytes);
  if (!made) {
    return made.status();
  }
  return std::unique_ptr<DeviceMemory>(
      std::make_unique<HostMemory>(std::move(*made)));
}

std::shared_ptr<Device> divisi::rt::makeHostDevice() {
  return std::make_shared<HostDevice>();
}
