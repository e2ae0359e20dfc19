//===- DeltaSimulatorTest.cpp ---------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle is the list scheduler in the order that is given, which has its
// own loop over EventSimulator.
//
//===----------------------------------------------------------------------===//

#include "divisi/Simulate/DeltaSimulator.h"

#include "lib/Schedule/ListSchedule.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <random>

using namespace divisi;

using Tasks = std::vector<ScheduleTask>;
using Draw = std::mt19937;

static size_t below(Draw &draw, size_t count) { return draw() % count; }

static Schedule wholeOf(const Tasks &tasks) {
  return makeSchedule(tasks, {1, std::numeric_limits<int64_t>::max() / 2});
}

static int64_t timeOf(Draw &draw) {
  return below(draw, 5) == 0 ? 0 : int64_t(below(draw, 50));
}

/// Chains with side branches, on one program or several. Without `fetches`,
/// every collective comes after something: a list scheduler fetches the others
/// in another order.
static Tasks randomTasks(Draw &draw, bool fetches) {
  size_t programs = 1 + below(draw, 4), count = 2 + below(draw, 60);
  const double slowdowns[] = {1, 1.1, 1.2, 2};
  Tasks tasks;
  for (size_t task = 0; task != count; ++task) {
    ScheduleTask &made = tasks.emplace_back();
    made.nanoseconds = timeOf(draw);
    made.meets = task != 0 && below(draw, 3) == 0;
    size_t first = below(draw, programs);
    made.programs.push_back(first);
    for (size_t other = first + 1; made.meets && other != programs; ++other) {
      if (below(draw, 2) == 0) {
        made.programs.push_back(other);
      }
    }
    made.slowdown = made.meets ? slowdowns[below(draw, 4)] : 1;
    for (size_t i = below(draw, 3) + (made.meets && !fetches);
         i-- > 0 && task > 0;) {
      size_t reach = below(draw, 4) == 0 ? task : std::min<size_t>(task, 5);
      made.after.push_back(task - 1 - below(draw, reach));
    }
    std::ranges::sort(made.after);
    made.after.erase(std::ranges::unique(made.after).begin(), made.after.end());
  }
  return tasks;
}

static std::vector<TaskTime> randomChanges(Draw &draw, size_t tasks) {
  std::vector<TaskTime> changes;
  for (size_t i = 1 + below(draw, 3); i-- > 0;) {
    size_t task = below(draw, tasks);
    if (std::ranges::none_of(changes, [&](const TaskTime &change) {
          return change.task == task;
        })) {
      changes.push_back({task, timeOf(draw)});
    }
  }
  return changes;
}

static void expectEqual(const DeltaSimulator &simulator, const Tasks &tasks) {
  Schedule whole = wholeOf(tasks);
  ASSERT_EQ(simulator.nanoseconds(), whole.nanoseconds);
  for (size_t task = 0; task != tasks.size(); ++task) {
    ASSERT_EQ(simulator.begin(task), whole.begins[task]) << task;
    ASSERT_EQ(simulator.end(task), whole.ends[task]) << task;
  }
}

/// The picture in the header.
TEST(DeltaSimulatorTest, oneTaskOfAChainIsSimulatedAgain) {
  Tasks tasks(5);
  for (size_t task = 0; task != 5; ++task) {
    tasks[task] = {{0}, {}, 10, false, 1, 0};
  }
  DeltaSimulator simulator(tasks);
  EXPECT_EQ(simulator.nanoseconds(), 50);
  std::vector<TaskTime> change = {{1, 13}};
  EXPECT_EQ(simulator.propose(change), 53);
  EXPECT_EQ(simulator.numSimulated(), 1u);
  EXPECT_EQ(simulator.nanoseconds(), 50);
  simulator.accept();
  EXPECT_EQ(simulator.nanoseconds(), 53);
  EXPECT_EQ(simulator.begin(4), 43);
  EXPECT_EQ(simulator.propose(change), 53); // nothing changes
  EXPECT_EQ(simulator.numSimulated(), 0u);
}

/// A collective that takes no time does not wait for the links, and what comes
/// after one that now takes time waits for it.
TEST(DeltaSimulatorTest, collectivesOfNoTimeKeepNoLinks) {
  Tasks tasks = {{{0}, {}, 10, false, 1, 0},
                 {{0}, {0}, 100, true, 1, 0},
                 {{0}, {0}, 0, true, 1, 0},
                 {{0}, {2}, 10, false, 1, 0},
                 {{0}, {1}, 10, false, 1, 0}};
  DeltaSimulator simulator(tasks);
  EXPECT_EQ(simulator.end(3), 20);
  EXPECT_EQ(simulator.nanoseconds(), 120);
  std::vector<TaskTime> change = {{2, 5}};
  EXPECT_EQ(simulator.propose(change), 135);
  simulator.accept();
  EXPECT_EQ(simulator.begin(2), 110);
}

/// Any changes, accepted or not, one after the other.
TEST(DeltaSimulatorTest, changesAreAsIfAllWereSimulated) {
  Draw draw(7);
  size_t proposals = 0, again = 0, all = 0;
  for (size_t graph = 0; graph != 400; ++graph) {
    Tasks tasks = randomTasks(draw, /*fetches=*/false);
    DeltaSimulator simulator(tasks);
    ASSERT_NO_FATAL_FAILURE(expectEqual(simulator, tasks)) << graph;
    for (size_t i = 0; i != 20; ++i, ++proposals) {
      std::vector<TaskTime> changes = randomChanges(draw, tasks.size());
      Tasks changed = tasks;
      for (const TaskTime &change : changes) {
        changed[change.task].nanoseconds = change.nanoseconds;
      }
      ASSERT_EQ(simulator.propose(changes), wholeOf(changed).nanoseconds)
          << graph << ' ' << i;
      again += simulator.numSimulated();
      all += tasks.size();
      if (below(draw, 2) == 0) {
        simulator.accept();
        tasks = changed;
      }
      ASSERT_NO_FATAL_FAILURE(expectEqual(simulator, tasks)) << graph << i;
    }
  }
  std::cout << "counted: " << proposals << " changes of random tasks, "
            << again * 100 / all << " % of the tasks simulated again\n";
  EXPECT_LT(again, all / 2);
}

/// The same where collectives wait for nothing, beside a simulator that knows
/// no change.
TEST(DeltaSimulatorTest, fetchesAreChangedToo) {
  Draw draw(8);
  for (size_t graph = 0; graph != 400; ++graph) {
    Tasks tasks = randomTasks(draw, /*fetches=*/true);
    DeltaSimulator simulator(tasks);
    for (size_t i = 0; i != 20; ++i) {
      std::vector<TaskTime> changes = randomChanges(draw, tasks.size());
      Tasks changed = tasks;
      for (const TaskTime &change : changes) {
        changed[change.task].nanoseconds = change.nanoseconds;
      }
      DeltaSimulator whole(changed);
      ASSERT_EQ(simulator.propose(changes), whole.nanoseconds())
          << graph << ' ' << i;
      if (below(draw, 2) == 0) {
        simulator.accept();
        tasks = changed;
        for (size_t task = 0; task != tasks.size(); ++task) {
          ASSERT_EQ(simulator.begin(task), whole.begin(task));
          ASSERT_EQ(simulator.end(task), whole.end(task));
        }
      }
    }
  }
}
