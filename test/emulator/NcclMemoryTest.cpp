//===- NcclMemoryTest.cpp - Registered memory, on the emulator ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each mistake is made in a process of its own: what is wrong stays wrong.
//
//===----------------------------------------------------------------------===//

#include "test/Sample.h"
#include "test/emulator/NcclState.h"
#include "test/emulator/NcclWorld.h"

#include "runtime/backends/cuda/CudaDevice.h"

#include <gmock/gmock.h>
#include <nccl.h>
#include <set>

using namespace divisi;
using namespace divisi::test;

namespace {

/// A rank alone, with memory.
struct Alone : CudaFixture {
  Alone() {
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclCommInitRankConfig(&communicator, 1, id, 0, &config);
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
      ncclCommGetAsyncError(communicator, &state);
    }
    ncclMemAlloc(&data, bytes);
  }
  ncclResult_t add() {
    return ncclCommRegister(communicator, data, bytes, &handle);
  }
  ncclResult_t takeBack() { return ncclCommDeregister(communicator, handle); }

  static constexpr size_t bytes = 256;
  ncclComm_t communicator = nullptr;
  void *data = nullptr, *handle = nullptr;
};

} // namespace

/// What the emulator says of it.
#define EXPECT_MISTAKE(statements, says)                                       \
  GTEST_FLAG_SET(death_test_style, "threadsafe");                              \
  EXPECT_EXIT(                                                                 \
      {                                                                        \
        statements;                                                            \
        std::exit(0);                                                          \
      },                                                                       \
      testing::ExitedWithCode(0), says)

TEST(NcclMemory, isRegisteredAndTakenBack) {
  Alone rank;
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(rank.add(), ncclSuccess);
    EXPECT_EQ(rank.takeBack(), ncclSuccess);
  }
  EXPECT_EQ(rank.add(), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(rank.communicator), ncclSuccess); // takes it back
  EXPECT_EQ(ncclMemFree(rank.data), ncclSuccess);
}

TEST(NcclMemory, isNotRegisteredTwice) {
  EXPECT_MISTAKE(
      {
        Alone rank;
        rank.add();
        rank.add();
      },
      "NCCL: memory is registered twice with a communicator");
}

TEST(NcclMemory, isNotTakenBackTwice) {
  EXPECT_MISTAKE(
      {
        Alone rank;
        rank.add();
        rank.takeBack();
        rank.takeBack();
      },
      "NCCL: memory is taken back that is not registered");
}

TEST(NcclMemory, isTakenBackBeforeItIsFreed) {
  EXPECT_MISTAKE(
      {
        Alone rank;
        rank.add();
        ncclMemFree(rank.data);
      },
      "memory is freed that is registered with a communicator");
}

/// Sums of all, of two pairs and of other two: a communicator each.
static std::vector<rt::StepDesc> sumsOfGroups() {
  std::vector<rt::StepDesc> steps;
  for (const std::vector<uint32_t> &ranks :
       {std::vector<uint32_t>{0, 1, 2, 3}, {0, 1}, {2, 3}, {0, 2}, {1, 3}}) {
    rt::StepDesc &step = steps.emplace_back();
    step.reduce = rt::ReduceKind::Sum;
    step.location = "all_reduce of " + std::to_string(steps.size());
    for (uint32_t rank : ranks) {
      step.parties.push_back({rank, rt::Box::whole({8}), rt::Box::whole({8})});
    }
  }
  return steps;
}

/// Whichever registration is refused: the emulator compares whether memory of a
/// call is registered on all ranks.
TEST(NcclMemory, isRegisteredOnAllRanksWhateverIsRefused) {
  Random random(7);
  std::set<std::string> said;
  const int count = sampleSize(24, 6);
  for (int i = 0; i < count; ++i) {
    auto position = uint64_t(1 + i * 24 / count);
    NcclWorld world;
    emulatedRefusal(position);
    for (const rt::StepDesc &step : sumsOfGroups()) {
      std::vector<Bytes> sources(step.parties.size(),
                                 drawElements(step, 8, random)),
          results;
      for (const Status &status : world.run(step, sources, results)) {
        ASSERT_TRUE(status.isOk())
            << "position " << position << ": " << status.message();
      }
    }
    for (uint32_t rank : NcclWorld::ranks) {
      said.insert(world.communicator->describe(rank));
    }
  }
  emulatedRefusal(0);
  auto isSaid = [&](const char *text) {
    return std::ranges::any_of(said, [&](const std::string &one) {
      return one.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(isSaid(" of its memory, but not with 1 of "));
  EXPECT_TRUE(isSaid("it cannot be mapped"));
  EXPECT_TRUE(isSaid("that of another device could not be"));
}

/// All of a rank's communicators are parts of one, and share what it has.
TEST(NcclMemory, isSharedByCommunicators) {
  Random random(8);
  uint64_t before[3], after[3], aborts = emulatedAborts();
  emulatedCommunicators(&before[0], &before[1], &before[2]);
  {
    NcclWorld world;
    for (const rt::StepDesc &step : sumsOfGroups()) {
      std::vector<Bytes> sources(step.parties.size(),
                                 drawElements(step, 8, random)),
          results;
      for (const Status &status : world.run(step, sources, results)) {
        ASSERT_TRUE(status.isOk()) << status.message();
      }
    }
  }
  emulatedCommunicators(&after[0], &after[1], &after[2]);
  EXPECT_EQ(after[0] - before[0], 4U); // one of each rank
  EXPECT_EQ(after[1] - before[1], 8U);
  EXPECT_EQ(after[2] - before[2], 12U);
  EXPECT_EQ(emulatedAborts(), aborts);
}

namespace {

/// With a message on its GPU, which nobody receives.
struct Waiting : Alone {
  Waiting() {
    ncclCommInitAll(made, 2, nullptr);
    auto *stream = reinterpret_cast<cudaStream_t>(
        static_cast<rt::cuda::CudaQueue &>(*queue).stream());
    ncclGroupStart();
    ncclSend(data, 4, ncclFloat, 1, made[0], stream);
    ncclGroupEnd();
    for (int i = 0; i < 20; ++i) {
      ncclResult_t state;
      ncclCommGetAsyncError(made[0], &state);
    }
  }

  ncclComm_t made[2];
};

} // namespace

/// What waits for all work of a device, while some of it waits for other ranks.
TEST(NcclMemory, isNotFreedWhileACollectiveWaits) {
  EXPECT_MISTAKE(
      {
        Waiting rank;
        cuMemFree(reinterpret_cast<CUdeviceptr>(rank.data));
      },
      "cuMemFree waits for all work of device 0, of which a collective waits "
      "for other ranks");
  EXPECT_MISTAKE(
      {
        Waiting rank;
        void *pinned = nullptr;
        cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_PORTABLE);
      },
      "cuMemHostAlloc waits for all work of device 0");
}

/// An abort frees the buffers of its communicator: alone it waits for others.
TEST(NcclMemory, isNotFreedByOneAbortOfSeveral) {
  EXPECT_MISTAKE(
      {
        Waiting rank;
        ncclCommAbort(rank.communicator);
      },
      "ncclCommAbort waits for all work of device 0");
}
