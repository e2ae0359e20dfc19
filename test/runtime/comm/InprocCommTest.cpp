//===- InprocCommTest.cpp - The world of tests in one process -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "test/runtime/comm/CommWorld.h"

#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;

std::vector<uint32_t> rt::localTestRanks() {
  return ranksOf(0, 1, numTestRanks);
}

std::shared_ptr<Communicator>
rt::connectTestRanks(std::chrono::milliseconds timeout) {
  return makeInprocCommunicator(timeout);
}

// A rank that has given up counts as present: the last one must not complete
// the meeting for all but it. This is the barrier before globals are updated.
TEST(InprocCommTest, whoComesAfterATimeoutFailsToo) {
  StepDesc barrier;
  barrier.location = "the end";
  barrier.parties = {{0, {}, {}}, {1, {}, {}}};
  std::unique_ptr<CommStep> late;
  Status lateStatus;
  std::unique_ptr<Communicator> communicator;
  communicator = makeInprocCommunicator(std::chrono::milliseconds(1), {}, [&] {
    lateStatus = runStep(*communicator, *late, nullptr, nullptr);
  });
  late = std::move(*communicator->prepare(barrier, 1));
  std::unique_ptr<CommStep> first =
      std::move(*communicator->prepare(barrier, 0));
  Status firstStatus = runStep(*communicator, *first, nullptr, nullptr);
  EXPECT_EQ(firstStatus.code(), ExitCode::Device);
  EXPECT_EQ(lateStatus.code(), ExitCode::Device);
  EXPECT_EQ(lateStatus.message(), firstStatus.message());
}

TEST(InprocCommTest, afterResetAStepThatFailedWorks) {
  auto communicator = makeInprocCommunicator(std::chrono::seconds(1));
  StepDesc step = gatherStep({0, 1});
  float source = 1;
  std::vector<float> results(4); // two of each party
  auto first = communicator->prepare(step, 0);
  EXPECT_EQ(runStep(*communicator, **first, &source, results.data()).code(),
            ExitCode::Device);
  communicator->reset();
  for (const Status &status : runOnAll(
           *communicator, step, [&](size_t) { return &source; },
           [&](size_t party) { return &results[2 * party]; })) {
    EXPECT_TRUE(status.isOk()) << status.message();
  }
}
