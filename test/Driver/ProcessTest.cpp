//===- ProcessTest.cpp ----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Process.h"

#include "divisi/Support/Clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace divisi;

TEST(Process, StartIsBeforeNowAndStaysWhereItIs) {
  double start = processStart();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  double now = steadySeconds();
  EXPECT_GT(now - start, 0.05);
  // The test itself has not run for long; a wrong clock or field would be off
  // by the machine's uptime.
  EXPECT_LT(now - start, 60);
  EXPECT_NEAR(processStart(), start, 1e-3);
}

TEST(Process, PeakMemoryGrowsWithWhatIsTouchedAndStays) {
  constexpr int64_t kBytes = int64_t(200) << 20;
  int64_t before = peakMemory();
  EXPECT_GT(before, int64_t(1) << 20);
  {
    std::vector<char> block(kBytes);
    std::memset(block.data(), 1, block.size());
    EXPECT_GE(peakMemory(), before + kBytes / 2);
  }
  EXPECT_GE(peakMemory(), before + kBytes / 2);
}

TEST(Process, FirstSignalOnlySetsTheFlag) {
  for (int signal : {SIGINT, SIGTERM}) {
    Interrupts interrupts;
    EXPECT_FALSE(interrupts.raised());
    std::raise(signal);
    EXPECT_TRUE(interrupts.raised());
  }
}

TEST(ProcessDeathTest, SecondSignalEnds) {
  auto twice = [](int first, int second) {
    Interrupts interrupts;
    std::raise(first);
    std::raise(second);
    _exit(0);
  };
  EXPECT_EXIT(twice(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

TEST(ProcessDeathTest, HandlersAreRestored) {
  auto after = [] {
    {
      Interrupts interrupts;
    }
    std::raise(SIGTERM);
    _exit(0);
  };
  EXPECT_EXIT(after(), testing::KilledBySignal(SIGTERM), "");
}
