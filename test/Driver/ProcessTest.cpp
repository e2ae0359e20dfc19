//===- ProcessTest.cpp ----------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Process.h"

#include "divisi/Support/Clock.h"
#include "divisi/Support/Interrupts.h"
#include "divisi/Support/MappedFile.h"
#include "lib/Driver/TruncatedFiles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
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

//===----------------------------------------------------------------------===//
// Mapped files
//===----------------------------------------------------------------------===//

TEST(TruncatedFilesTest, endTheProcessWithTheirName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("divisi \x1b[2Jmapped " + std::to_string(getpid()));
  std::ofstream(path) << std::string(10000, 'x');
  auto readBeyondTheEnd = [&] {
    reportTruncatedFiles();
    auto file = MappedFile::open(path.string());
    std::filesystem::resize_file(path, 100);
    const volatile std::byte *last = &file->bytes().back();
    (void)*last;
  };
  EXPECT_EXIT(readBeyondTheEnd(), testing::ExitedWithCode(3),
              "divisi: error: cannot read '/.*/divisi .*mapped .*': it was "
              "made shorter while it was read");
  std::filesystem::remove(path);
}

TEST(TruncatedFilesTest, leaveOtherSignalsAlone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto raise = [] {
    std::signal(SIGBUS, SIG_DFL);
    reportTruncatedFiles();
    kill(getpid(), SIGBUS);
    kill(getpid(), SIGBUS);
  };
  EXPECT_EXIT(raise(), testing::KilledBySignal(SIGBUS), "");
}
