//===- CudaDeviceTest.cpp - The device `cuda`, on the emulator ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulated libcuda.so.1 is linked, so it is what the driver's table finds.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/CudaFixture.h"

#include "runtime/backends/cuda/GridLibrary.h"

#include <cstring>
#include <gmock/gmock.h>
#include <random>

#include <sys/mman.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

using Fixture = divisi::test::CudaFixture;

/// Pieces of boxes of up to three dimensions, to the device and back.
TEST(CudaDevice, CopiesWhatTheHostCopies) {
  Fixture f;
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    size_t rank = 1 + random() % 3;
    Box source, result, piece;
    for (size_t d = 0; d < rank; ++d) {
      int64_t begin = int64_t(random() % 4), end = begin + 1 + random() % 5;
      piece.begin.push_back(begin);
      piece.end.push_back(end);
      for (Box *box : {&source, &result}) {
        box->begin.push_back(begin - int64_t(random() % (begin + 1)));
        box->end.push_back(end + int64_t(random() % 3));
      }
    }
    int64_t width = int64_t(1) << random() % 4;
    BoxCopy copy(width, piece, source, result);
    std::vector<std::byte> from(size_t(source.count() * width));
    for (std::byte &byte : from) {
      byte = std::byte(random());
    }
    std::vector<std::byte> expected(size_t(result.count() * width),
                                    std::byte(0xff));
    auto memory = f.device->allocate(int64_t(expected.size()));
    ASSERT_TRUE(memory);
    f.copy(expected.data(), (*memory)->data(), int64_t(expected.size()));
    copy.run(from.data(), expected.data());
    ASSERT_TRUE(
        f.device->copyBox(f.queue.get(), copy, from.data(), (*memory)->data())
            .isOk());
    ASSERT_EQ(f.read(**memory), expected) << "round " << round;
  }
}

TEST(CudaDevice, FillsWithNeutralElements) {
  Fixture f;
  constexpr int64_t count = 7;
  int known = 0;
  for (int type = 0; type <= int(DType::Bool); ++type) {
    for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max,
                            ReduceKind::Min, ReduceKind::And, ReduceKind::Or}) {
      auto element = DType(type);
      if (!findCombine(element, kind)) {
        continue;
      }
      ++known;
      std::vector<std::byte> expected(size_t(count * byteWidth(element)));
      fillNeutral(element, kind, expected.data(), count);
      auto memory = f.device->allocate(int64_t(expected.size()));
      ASSERT_TRUE(memory);
      ASSERT_TRUE(
          f.device->fill(f.queue.get(), element, kind, (*memory)->data(), count)
              .isOk());
      ASSERT_EQ(f.read(**memory), expected)
          << stringify(element) << " " << stringify(kind);
    }
  }
  EXPECT_GT(known, 40);
}

TEST(EmulatedDevice, SaysWhatIsNotThere) {
  EXPECT_THAT(makeCudaDevice(4).status().message(),
              HasSubstr("no CUDA device 4: this process sees 4"));
  EXPECT_EQ(makeCudaDevice(4).status().code(), ExitCode::Device);
  Fixture f;
  Status full = f.device->allocate(int64_t(1) << 40).status();
  EXPECT_EQ(full.code(), ExitCode::Device);
  EXPECT_THAT(
      full.message(),
      HasSubstr("CUDA cannot allocate 1099511627776 bytes, of "
                "16642998272 that are free of 17179869184, on device 0: "
                "out of memory (CUDA_ERROR_OUT_OF_MEMORY)"));
}

TEST(CudaDevice, IsKnownByItsBackend) {
  EXPECT_EQ(cudaBackend().name(), "cuda");
  EXPECT_EQ(cudaBackend().space(), "cuda");
  EXPECT_GT(cudaBackend().kernels().size(), 20u);
}

/// PTX as an artifact may have it: behind its last byte there is nothing.
TEST(EmulatedDevice, EndsPtxWithNul) {
  const std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  long page = sysconf(_SC_PAGESIZE);
  auto *pages = static_cast<char *>(mmap(nullptr, size_t(2 * page),
                                         PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(pages + page, size_t(page), PROT_NONE), 0);
  char *begin = pages + page - text.size();
  std::memcpy(begin, text.data(), text.size());
  Status status =
      cuda::GridLibrary::open(std::as_bytes(std::span(begin, text.size())))
          .status();
  EXPECT_EQ(status.code(), ExitCode::Device);
  EXPECT_THAT(status.message(), HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU"));
  munmap(pages, size_t(2 * page));
}

/// What belongs to one device is not used with another, which CUDA refuses.
TEST(EmulatedDevice, RefusesWhatIsOfAnotherDevice) {
  Fixture one;
  auto other = *makeCudaDevice(1);
  auto queue = std::move(*other->makeQueue());
  auto event = std::move(*other->makeEvent());
  EXPECT_THAT(other->record(*one.queue, *event).message(),
              HasSubstr("CUDA_ERROR_INVALID_HANDLE"));
  ASSERT_TRUE(other->record(*queue, *event).isOk());
  EXPECT_TRUE(one.device->wait(*one.queue, *event).isOk()); // that it allows
  EXPECT_TRUE(one.finish().isOk());
}

/// Comes last: what is wrong with a device stays wrong.
TEST(EmulatedDeviceRace, IsReportedWhateverTheOrder) {
  Fixture f;
  auto other = std::move(*f.device->makeQueue());
  auto memory = std::move(*f.device->allocate(64));
  ASSERT_TRUE(
      f.device
          ->fill(f.queue.get(), DType::F32, ReduceKind::Sum, memory->data(), 16)
          .isOk());
  ASSERT_TRUE(f.device->record(*f.queue, *f.event).isOk());
  ASSERT_TRUE(f.device->wait(*other, *f.event).isOk());
  ASSERT_TRUE(
      f.device
          ->fill(other.get(), DType::F32, ReduceKind::Sum, memory->data(), 16)
          .isOk());
  ASSERT_TRUE(f.finish(*other).isOk());
  // The same again, and nobody waits.
  for (DeviceQueue *queue : {f.queue.get(), other.get()}) {
    ASSERT_TRUE(
        f.device
            ->fill(queue, DType::F32, ReduceKind::Sum, memory->data() + 32, 8)
            .isOk());
  }
  Status status = f.finish();
  status = status.isOk() ? f.finish(*other) : status;
  EXPECT_THAT(status.message(), HasSubstr("a fill writes what a fill touches"));
}
