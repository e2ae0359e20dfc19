//===- EventSimulatorTest.cpp ---------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Simulate/EventSimulator.h"

#include "gmock/gmock.h"

using namespace divisi;
using testing::ElementsAre;

using Tasks = std::vector<ScheduleTask>;

static ScheduleTask call(int64_t time, size_t program = 0) {
  return {{program}, {}, time, false, 1, 0};
}

static ScheduleTask meet(int64_t time, std::vector<size_t> programs = {0},
                         double slowdown = 1) {
  return {std::move(programs), {}, time, true, slowdown, 1};
}

/// All that ends next, and then the time.
static std::vector<size_t> endNext(EventSimulator &simulator) {
  std::vector<size_t> ended;
  EXPECT_TRUE(simulator.advance());
  while (std::optional<size_t> task = simulator.takeEnded()) {
    ended.push_back(*task);
  }
  return ended;
}

/// The picture in the header.
TEST(EventSimulatorTest, operatorsRunBesideCollectives) {
  Tasks tasks = {meet(9), call(10)};
  EventSimulator simulator(tasks);
  EXPECT_FALSE(simulator.isBusy(0));
  simulator.beginCollective(0);
  simulator.beginOperator(1);
  EXPECT_TRUE(simulator.isBusy(0));
  EXPECT_THAT(endNext(simulator), ElementsAre(0));
  EXPECT_EQ(simulator.now(), 9);
  EXPECT_THAT(endNext(simulator), ElementsAre(1));
  EXPECT_EQ(simulator.now(), 10);
  EXPECT_FALSE(simulator.isBusy(0));
  EXPECT_FALSE(simulator.advance());
  SimulatedTimes times = simulator.times();
  EXPECT_EQ(times.nanoseconds, 10);
  EXPECT_EQ(times.communication, 9);
  EXPECT_EQ(times.exposed, 0);
}

/// Its first 12 ns take an operator 1.2 times as long, however late the
/// collective becomes known.
TEST(EventSimulatorTest, collectivesSlowOperatorsDown) {
  Tasks tasks = {meet(12, {0}, 1.2), call(20)};
  EventSimulator simulator(tasks);
  simulator.beginOperator(1);
  simulator.beginCollective(0);
  EXPECT_THAT(endNext(simulator), ElementsAre(0));
  EXPECT_THAT(endNext(simulator), ElementsAre(1));
  EXPECT_EQ(simulator.now(), 22);
  EXPECT_EQ(simulator.times().exposed, 2);
}

/// The links of a program carry one collective at a time, and one that two
/// programs have in common waits for both.
TEST(EventSimulatorTest, collectivesQueueOnLinks) {
  Tasks tasks = {meet(5, {0}), meet(7, {1}), meet(3, {0, 1})};
  EventSimulator simulator(tasks);
  ASSERT_EQ(simulator.numPrograms(), 2u);
  for (size_t task = 0; task < tasks.size(); ++task) {
    simulator.beginCollective(task);
  }
  EXPECT_THAT(endNext(simulator), ElementsAre(0));
  EXPECT_THAT(endNext(simulator), ElementsAre(1));
  EXPECT_EQ(simulator.now(), 7);
  EXPECT_THAT(endNext(simulator), ElementsAre(2));
  EXPECT_EQ(simulator.now(), 10);
  EXPECT_EQ(simulator.times().communication, 10);
  EXPECT_EQ(simulator.times().exposed, 10);
}

/// What ends at one time: operators by their programs, then collectives; and
/// what begins meanwhile and takes no time.
TEST(EventSimulatorTest, endsHaveAnOrder) {
  Tasks tasks = {meet(4, {0, 1}), call(4, 1), call(4, 0), call(0, 1)};
  EventSimulator simulator(tasks);
  simulator.beginCollective(0);
  simulator.beginOperator(1);
  simulator.beginOperator(2);
  ASSERT_TRUE(simulator.advance());
  EXPECT_EQ(simulator.takeEnded(), 2u);
  EXPECT_EQ(simulator.takeEnded(), 1u);
  simulator.beginOperator(3);
  EXPECT_EQ(simulator.takeEnded(), 3u);
  EXPECT_EQ(simulator.takeEnded(), 0u);
  EXPECT_EQ(simulator.takeEnded(), std::nullopt);
  EXPECT_EQ(simulator.now(), 4);
}

/// Without overlap programs still run beside each other.
TEST(EventSimulatorTest, timeInTurnIsThatOfTheLongestProgram) {
  EXPECT_EQ(timeInTurn(Tasks{call(4, 0), call(7, 1), meet(2, {0, 1})}), 9);
  EXPECT_EQ(timeInTurn(Tasks{call(4), meet(2), call(3)}), 9);
}
