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

#include "test/emulator/NcclWorld.h"

#include <gmock/gmock.h>
#include <nccl.h>

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
