//===- CudaGraphTest.cpp - Graphs of a device, on the emulator ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is recorded is what was given, with the addresses that it had; what must
// not be recorded is refused.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/CudaFixture.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

namespace {

/// Two queues, and memory on both sides.
struct GraphFixture : divisi::test::CudaFixture {
  static constexpr int64_t bytes = 64;
  std::unique_ptr<DeviceQueue> other = std::move(*device->makeQueue());
  std::unique_ptr<DeviceEvent> begun = std::move(*device->makeEvent());
  std::unique_ptr<DeviceEvent> back = std::move(*device->makeEvent());
  std::unique_ptr<DeviceMemory> pinned =
      std::move(*device->allocateHost(bytes));
  std::unique_ptr<DeviceMemory> memory = std::move(*device->allocate(bytes));

  Status put(DeviceQueue &on, const void *from, void *to) {
    Box all{{0}, {bytes}};
    return device->copyBox(&on, BoxCopy(1, all, all, all), from, to);
  }
  /// Brings `other` into the recording, or back from it.
  void fork() {
    EXPECT_TRUE(device->record(*queue, *begun).isOk());
    EXPECT_TRUE(device->wait(*other, *begun).isOk());
  }
  void join() {
    EXPECT_TRUE(device->record(*other, *back).isOk());
    EXPECT_TRUE(device->wait(*queue, *back).isOk());
  }
  /// Why there is no graph of what `body` does.
  template <typename Body> std::string refusal(Body body) {
    EXPECT_TRUE(device->beginGraph(*queue).isOk());
    body();
    return device->endGraph(*queue).status().message();
  }
};

} // namespace

TEST(CudaGraph, DoesAgainWhatWasRecorded) {
  GraphFixture f;
  auto result = std::move(*f.device->allocateHost(f.bytes));
  ASSERT_TRUE(f.device->beginGraph(*f.queue).isOk());
  ASSERT_TRUE(f.put(*f.queue, f.pinned->data(), f.memory->data()).isOk());
  f.fork();
  ASSERT_TRUE(f.put(*f.other, f.memory->data(), result->data()).isOk());
  f.join();
  auto graph = f.device->endGraph(*f.queue);
  ASSERT_TRUE(graph) << graph.status().message();
  for (int value : {7, 8, 9}) {
    std::memset(f.pinned->data(), value, f.bytes);
    std::memset(result->data(), 0, f.bytes);
    ASSERT_TRUE(f.device->run(*f.queue, **graph).isOk());
    ASSERT_TRUE(f.finish().isOk());
    EXPECT_EQ(std::memcmp(f.pinned->data(), result->data(), f.bytes), 0);
  }
}

TEST(CudaGraph, IsNotMadeOfWhatMustNotBeRecorded) {
  GraphFixture f;
  std::vector<std::byte> pageable(f.bytes);
  EXPECT_THAT(f.refusal([&] {
    EXPECT_THAT(f.device->allocate(64).status().message(),
                HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"));
  }),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"));
  EXPECT_THAT(f.refusal([&] {
    EXPECT_TRUE(f.device->record(*f.queue, *f.event).isOk());
    EXPECT_THAT(f.device->poll(*f.event).status().message(),
                HasSubstr("CUDA_ERROR_CAPTURED_EVENT"));
    EXPECT_FALSE(f.device->allocateHost(64));
  }),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"));
  EXPECT_THAT(f.refusal([&] {
    EXPECT_THAT(f.put(*f.queue, pageable.data(), f.memory->data()).message(),
                HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"));
  }),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"));
  // What has joined and does not come back.
  EXPECT_THAT(
      f.refusal([&] {
        f.fork();
        EXPECT_TRUE(f.put(*f.other, f.pinned->data(), f.memory->data()).isOk());
      }),
      HasSubstr("CUDA cannot make a graph of what was recorded on device "
                "0: refused by the emulator "
                "(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)"));
  // What was not recorded.
  ASSERT_TRUE(f.device->record(*f.other, *f.back).isOk());
  EXPECT_THAT(f.refusal([&] {
    EXPECT_THAT(f.device->wait(*f.queue, *f.back).message(),
                HasSubstr("CUDA_ERROR_STREAM_CAPTURE_ISOLATION"));
  }),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"));
  // After all that the queues work as before.
  EXPECT_TRUE(f.put(*f.other, f.pinned->data(), f.memory->data()).isOk());
  EXPECT_TRUE(f.finish().isOk());
}

/// Comes last: what is wrong with a device stays wrong.
TEST(CudaGraphRace, IsReportedOfEachRun) {
  GraphFixture f;
  auto second = std::move(*f.device->allocateHost(f.bytes));
  ASSERT_TRUE(f.device->beginGraph(*f.queue).isOk());
  f.fork();
  // Both write the same bytes, and neither waits for the other.
  ASSERT_TRUE(f.put(*f.queue, f.pinned->data(), f.memory->data()).isOk());
  ASSERT_TRUE(f.put(*f.other, second->data(), f.memory->data()).isOk());
  f.join();
  auto graph = f.device->endGraph(*f.queue);
  ASSERT_TRUE(graph);
  ASSERT_TRUE(f.finish().isOk());
  ASSERT_TRUE(f.device->run(*f.queue, **graph).isOk());
  EXPECT_THAT(f.finish().message(), HasSubstr("a copy writes what a copy"));
}
