//===- CudaFixture.h - A GPU that is not there ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_CUDAFIXTURE_H
#define DIVISI_TEST_EMULATOR_CUDAFIXTURE_H

#include "divisi/runtime/backends/cuda/CudaBackend.h"

#include <gtest/gtest.h>
#include <vector>

namespace divisi::test {

/// A device, and one queue of it.
struct CudaFixture {
  std::shared_ptr<rt::Device> device = *rt::makeCudaDevice(0);
  std::unique_ptr<rt::DeviceQueue> queue = std::move(*device->makeQueue());
  std::unique_ptr<rt::DeviceEvent> event = std::move(*device->makeEvent());

  /// Ends what is on the queue.
  Status finish() { return finish(*queue); }
  /// Ends what is on another one.
  Status finish(rt::DeviceQueue &other) {
    Status status = device->record(other, *event);
    while (status.isOk()) {
      Expected<bool> isReached = device->poll(*event);
      if (!isReached || *isReached) {
        return isReached.status();
      }
    }
    return status;
  }
  /// Copies bytes from the device, or to it, in the queue's order.
  void copy(const void *from, void *to, int64_t bytes) {
    rt::Box all{{0}, {bytes}};
    EXPECT_TRUE(
        device->copyBox(queue.get(), rt::BoxCopy(1, all, all, all), from, to)
            .isOk());
    EXPECT_TRUE(finish().isOk());
  }
  /// All bytes of a memory of the device.
  std::vector<std::byte> read(const rt::DeviceMemory &memory) {
    std::vector<std::byte> bytes(size_t(memory.size()));
    copy(memory.data(), bytes.data(), memory.size());
    return bytes;
  }
};

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_CUDAFIXTURE_H
