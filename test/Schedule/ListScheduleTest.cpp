//===- ListScheduleTest.cpp - Tests of orders that overlap ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/ListSchedule.h"

#include "gmock/gmock.h"

#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace divisi;
using testing::ElementsAre;

using Tasks = std::vector<ScheduleTask>;

static constexpr ScheduleReach kFar = {1000, 1 << 20};

static ScheduleTask call(std::vector<size_t> after, int64_t time,
                         size_t program = 0) {
  return {{program}, std::move(after), time, false, 1, 0};
}

static ScheduleTask meet(std::vector<size_t> after, int64_t time,
                         std::vector<size_t> programs = {0},
                         double slowdown = 1, int64_t bytes = 1) {
  return {std::move(programs), std::move(after), time, true, slowdown, bytes};
}

/// The gradient of a weight needs no all-reduce, and runs beside it.
TEST(ListScheduleTest, operatorsFillTheTimeOfCollectives) {
  // 0 weight's gradient, 1 input's gradient, 2 its all-reduce, 3 its user.
  Tasks tasks = {call({}, 10), call({}, 10), meet({1}, 8), call({2}, 10)};
  Schedule made = makeSchedule(tasks, kFar);
  EXPECT_THAT(made.order, ElementsAre(1, 2, 0, 3));
  EXPECT_EQ(made.nanoseconds, 30);
  EXPECT_EQ(made.communication, 8);
  EXPECT_EQ(made.exposed, 0);
  // Operators in the order that is given leave it exposed.
  Schedule kept = makeSchedule(tasks, {1, 0});
  EXPECT_THAT(kept.order, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(kept.nanoseconds, 38);
  EXPECT_EQ(kept.exposed, 8);
  EXPECT_EQ(timeInTurn(tasks), 38);
}

/// One weight is on its way while the one before is used; more with room.
TEST(ListScheduleTest, weightsAreFetchedAhead) {
  Tasks tasks;
  for (size_t layer = 0; layer < 4; ++layer) {
    tasks.push_back(meet({}, 10, {0}, 1, 100));
    std::vector<size_t> after = {2 * layer};
    if (layer > 0) {
      after.push_back(2 * layer - 1);
    }
    tasks.push_back(call(after, 10));
  }
  Schedule one = makeSchedule(tasks, {1, 0});
  EXPECT_THAT(one.order, ElementsAre(0, 2, 1, 4, 3, 6, 5, 7));
  EXPECT_EQ(one.nanoseconds, 50);
  EXPECT_EQ(one.exposed, 10);
  Schedule all = makeSchedule(tasks, {1, 400});
  EXPECT_THAT(all.order, ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

/// The example of divisi/Cost/Overlap.h.
TEST(ListScheduleTest, collectivesSlowOperatorsDown) {
  Tasks tasks = {meet({}, 12, {0}, 1.2), call({}, 10), call({}, 10)};
  Schedule made = makeSchedule(tasks, kFar);
  EXPECT_EQ(made.nanoseconds, 22);
  EXPECT_EQ(made.exposed, 2);
}

/// Both programs have what they do together in one order, and wait for the
/// later of them.
TEST(ListScheduleTest, programsMeet) {
  Tasks tasks = {call({}, 5, 0),           call({0}, 50, 0),
                 call({}, 20, 1),          meet({0, 2}, 10, {0, 1}),
                 meet({1, 2}, 10, {0, 1}), call({3, 4}, 5, 1)};
  Schedule made = makeSchedule(tasks, kFar);
  EXPECT_THAT(made.order, ElementsAre(0, 2, 1, 3, 4, 5));
  EXPECT_EQ(made.nanoseconds, 70);
  EXPECT_EQ(timeInTurn(tasks), 80);
}

/// What `order` takes if the operators of a program run one after another, and
/// its collectives: as soon as the list allows.
static int64_t timeOf(const Tasks &tasks, const std::vector<size_t> &order) {
  std::map<size_t, int64_t> calls, links;
  std::vector<int64_t> ends(tasks.size());
  int64_t last = 0;
  for (size_t task : order) {
    int64_t begin = 0;
    for (size_t earlier : tasks[task].after) {
      begin = std::max(begin, ends[earlier]);
    }
    auto &free = tasks[task].meets ? links : calls;
    for (size_t program : tasks[task].programs) {
      begin = std::max(begin, free[program]);
    }
    ends[task] = begin + tasks[task].nanoseconds;
    for (size_t program : tasks[task].programs) {
      free[program] = ends[task];
    }
    last = std::max(last, ends[task]);
  }
  return last;
}

/// The least time of all orders.
static int64_t bestOf(const Tasks &tasks) {
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    std::vector<bool> done(tasks.size());
    bool isRight = true;
    for (size_t task : order) {
      for (size_t earlier : tasks[task].after) {
        isRight = isRight && done[earlier];
      }
      done[task] = true;
    }
    if (isRight) {
      best = std::min(best, timeOf(tasks, order));
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// Programs of one or two ranks; collectives have an operand.
static Tasks drawTasks(std::mt19937 &random, size_t count) {
  Tasks tasks;
  size_t programs = 1 + random() % 2;
  for (size_t i = 0; i < count; ++i) {
    std::vector<size_t> after;
    for (size_t j = 0; j < i; ++j) {
      if (random() % 3 == 0) {
        after.push_back(j);
      }
    }
    int64_t time = 1 + int64_t(random() % 9);
    bool meets = !after.empty() && random() % 3 == 0;
    if (!meets) {
      // Its operands are of its program, or come from others.
      size_t program = random() % programs;
      std::erase_if(after, [&](size_t j) {
        return std::ranges::find(tasks[j].programs, program) ==
               tasks[j].programs.end();
      });
      tasks.push_back(call(after, time, program));
      continue;
    }
    std::vector<size_t> all(programs);
    std::iota(all.begin(), all.end(), 0);
    tasks.push_back(meet(after, time, all));
  }
  return tasks;
}

// Against all orders of small programs: what is said is what the order takes,
// and few orders are better.
TEST(ListScheduleTest, againstAllOrders) {
  std::mt19937 random(7);
  int best = 0, rounds = 150;
  double worst = 1;
  for (int round = 0; round < rounds; ++round) {
    Tasks tasks = drawTasks(random, 7);
    Schedule made = makeSchedule(tasks, kFar);
    std::vector<size_t> sorted = made.order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<size_t> all(tasks.size());
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(sorted, all);
    EXPECT_EQ(made.nanoseconds, timeOf(tasks, made.order));
    int64_t least = bestOf(tasks);
    EXPECT_GE(made.nanoseconds, least);
    best += made.nanoseconds == least;
    worst = std::max(worst, double(made.nanoseconds) / double(least));
  }
  std::cout << best << " of " << rounds << " orders are best, the worst takes "
            << worst << " times as long\n";
  EXPECT_GT(best, rounds * 8 / 10);
  EXPECT_LT(worst, 2);
}

// Larger ones, some with weights: every list is one in which tasks come after
// what they use, a program's time is operators and what is exposed, and a
// program that keeps its order of operators keeps it.
TEST(ListScheduleTest, ordersAreRight) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    Tasks tasks = drawTasks(random, 40);
    for (ScheduleTask &task : tasks) {
      if (!task.meets && task.after.empty() && random() % 2) {
        task.meets = true;
        task.bytes = 1 + int64_t(random() % 5);
        task.slowdown = 1.5;
      }
    }
    ScheduleReach reach = {size_t(1) << (random() % 6), int64_t(random() % 9)};
    Schedule made = makeSchedule(tasks, reach);
    ASSERT_EQ(made.order.size(), tasks.size());
    std::vector<bool> done(tasks.size());
    std::map<size_t, size_t> last; // by program
    int64_t work = 0;
    bool isOne = true;
    for (size_t task : made.order) {
      EXPECT_FALSE(done[task]);
      done[task] = true;
      for (size_t earlier : tasks[task].after) {
        EXPECT_TRUE(done[earlier]);
      }
      isOne &= tasks[task].programs == std::vector<size_t>{0};
      if (!tasks[task].meets) {
        work += tasks[task].nanoseconds;
        size_t &before = last[tasks[task].programs.front()];
        EXPECT_TRUE(reach.operators > 1 || before <= task);
        before = task;
      }
    }
    EXPECT_GE(made.nanoseconds, timeOf(tasks, made.order));
    if (isOne) {
      EXPECT_EQ(made.nanoseconds, work + made.exposed);
    }
    EXPECT_EQ(made.order, makeSchedule(tasks, reach).order);
  }
}
