//===- TeamTest.cpp - Tests of how teams of threads wait ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Team.h"

#include <gtest/gtest.h>
#include <latch>
#include <thread>
#include <vector>

using namespace divisi::rt::cpu;

/// Of a team of `threads`, with another within it.
static void workTwice(int threads) {
  TeamSize outer(threads);
  TeamSize inner(threads);
}

/// Teams at work at once, each in a thread of its own that is new: of what
/// these lacked nothing is known yet.
static bool sleepWith(int teams, int threads) {
  bool areAsleep = false;
  std::latch areThere(teams), areDone(teams);
  std::vector<std::thread> workers;
  for (int i = 0; i < teams; ++i) {
    workers.emplace_back([&, i] {
      TeamSize team(threads);
      areThere.arrive_and_wait();
      workTwice(threads);
      if (i == 0) {
        areAsleep = areTeamsAsleep();
      }
      areDone.arrive_and_wait();
    });
  }
  for (std::thread &worker : workers) {
    worker.join();
  }
  return areAsleep;
}

TEST(TeamTest, waitsAwakeUnlessTeamsLackCores) {
  auto cores = int(std::thread::hardware_concurrency());
  EXPECT_FALSE(sleepWith(1, cores)) << "a team within a team counted as two";
  EXPECT_TRUE(sleepWith(2, cores + 1));
}
