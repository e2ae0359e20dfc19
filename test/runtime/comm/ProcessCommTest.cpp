//===- ProcessCommTest.cpp - The world of tests in several processes ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked by who connects the processes: MpiCommTest.cpp, SocketCommTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/ProcessCommTest.h"
#include "divisi/runtime/comm/Spin.h"
#include "test/runtime/comm/CommWorld.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

std::shared_ptr<ProcessWorld> &rt::testProcesses() {
  static std::shared_ptr<ProcessWorld> processes;
  return processes;
}

std::vector<uint32_t> rt::localTestRanks() {
  const ProcessWorld &processes = *testProcesses();
  return ranksOf(processes.self(), processes.size(), numTestRanks);
}

// The processes begin each test together: what is late is late by intent.
static std::shared_ptr<Communicator> connect(std::chrono::milliseconds timeout,
                                             size_t threads) {
  ProcessWorld &processes = *testProcesses();
  auto texts = gatherTexts(processes, "", "the beginning of a test",
                           std::chrono::seconds(60));
  EXPECT_TRUE(texts) << texts.status().message();
  return processes.connect(processesOf(processes.size(), numTestRanks), timeout,
                           spinLimit, threads);
}

std::shared_ptr<Communicator>
rt::connectTestRanks(std::chrono::milliseconds timeout) {
  return connect(timeout, localTestRanks().size());
}

TEST(ProcessCommTest, textsReachAllProcesses) {
  ProcessWorld &processes = *testProcesses();
  auto textOf = [](uint32_t process) {
    return process == 1 ? "" : std::string(100000 * process, 'a') + "b";
  };
  for (int round = 0; round < 3; ++round) {
    auto texts = gatherTexts(processes, textOf(processes.self()), "the test",
                             std::chrono::seconds(20));
    ASSERT_TRUE(texts) << texts.status().message();
    ASSERT_EQ(texts->size(), processes.size());
    for (uint32_t process = 0; process < processes.size(); ++process) {
      EXPECT_EQ((*texts)[process], textOf(process));
    }
  }
}

TEST(ProcessCommTest, aProcessThatDoesNotComeIsNamed) {
  ProcessWorld &processes = *testProcesses();
  if (processes.self() == 1) {
    (void)processes.connect({}, {}, {}, 1); // as far as the others
    return;
  }
  auto texts =
      gatherTexts(processes, "x", "the test", std::chrono::milliseconds(300));
  ASSERT_FALSE(texts);
  EXPECT_THAT(texts.status().message(), HasSubstr("ms in the test (tag 0) for "
                                                  "rank 1, which did not"));
}

/// All ranks get 16 MiB, from all or combined.
static StepDesc bigStep(bool reduces) {
  constexpr int64_t count = int64_t(4) << 20; // 16 MiB
  StepDesc step;
  step.location = "the large step";
  step.tag = reduces;
  Box whole = Box::whole({count});
  for (uint32_t i = 0; i < numTestRanks; ++i) {
    Box part{{count * i / numTestRanks}, {count * (i + 1) / numTestRanks}};
    step.parties.push_back({i, reduces ? whole : part, whole});
  }
  if (reduces) {
    step.reduce = ReduceKind::Sum;
  }
  return step;
}

/// Whether the rank's first look at a step finds it done, after it has computed
/// for a while and called nothing.
static bool isDoneBehind(std::chrono::milliseconds computing, CommStep &share,
                         const std::vector<float> &source,
                         std::vector<float> &result) {
  EXPECT_TRUE(share.start(source.data(), result.data()).isOk());
  std::this_thread::sleep_for(computing);
  auto isDone = share.poll();
  EXPECT_TRUE(isDone) << isDone.status().message();
  return isDone && *isDone;
}

// No rank drives its steps, nor takes a core; how long the machine takes for it
// is its affair.
TEST(ProcessCommTest, stepsGoOnWhileAllRanksCompute) {
  ProcessWorld &processes = *testProcesses();
  for (bool reduces : {false, true}) {
    StepDesc step = bigStep(reduces);
    auto communicator = connect(std::chrono::seconds(60), /*threads=*/0);
    std::vector<LoneStep> shares(numTestRanks);
    onLocal(step, [&](size_t party) {
      auto share = LoneStep::prepare(*communicator, step, party);
      ASSERT_TRUE(share) << share.status().message();
      shares[party] = std::move(*share);
    });
    bool areAllDone = false;
    for (std::chrono::milliseconds computing(50); !areAllDone; computing *= 2) {
      ASSERT_LT(computing, std::chrono::seconds(10)) << "nobody drives it";
      std::atomic<bool> areDone = true;
      onLocal(step, [&](size_t party) {
        const Box &box = *step.parties[party].source;
        std::vector<float> source(size_t(box.count()), float(party + 1));
        std::vector<float> result(size_t(step.parties[party].result->count()));
        CommStep *share = shares[party].get();
        if (!isDoneBehind(computing, *share, source, result)) {
          areDone = false;
          for (bool isDone = false; !isDone; isDone = *share->poll()) {
            communicator->wait({&share, 1});
          }
        }
        EXPECT_EQ(result.front(), reduces ? 21.f : 1.f);
        EXPECT_EQ(result.back(), reduces ? 21.f : 6.f);
      });
      auto all = gatherTexts(processes, areDone ? "" : "no", "the test",
                             std::chrono::seconds(60));
      ASSERT_TRUE(all) << all.status().message();
      areAllDone = std::all_of(all->begin(), all->end(),
                               [](const auto &one) { return one.empty(); });
    }
  }
}
