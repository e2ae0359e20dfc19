//===- SimulatorBench.cpp - How fast steps are simulated ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step of 96 layers, as many tasks as GPT-3's plan on one grid: in
// each layer tensor parallelism's all-reduces, which are exposed, gathers of
// the weights and reductions of their gradients, which run beside operators.
// One operator after the other takes another time, with the collectives around
// it. Then a chain of a million tasks.
//
//===----------------------------------------------------------------------===//

#include "divisi/Simulate/DeltaSimulator.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

using namespace divisi;
using Tasks = std::vector<ScheduleTask>;

static constexpr size_t kLayers = 96, kOperators = 14;

/// Adds a task of no program but the first; where it is.
static size_t add(Tasks &tasks, bool meets, int64_t time,
                  std::vector<size_t> after) {
  tasks.push_back(
      {{0}, std::move(after), time, meets, meets ? 1.2 : 1.0, meets});
  return tasks.size() - 1;
}

/// A layer of one pass: every other operator has a weight, which is gathered
/// while the operator before runs, or whose gradient is reduced.
static void addLayer(Tasks &tasks, std::mt19937 &draw, bool isBackward,
                     size_t &last) {
  auto time = [&](int64_t most) { return most / 2 + draw() % (most / 2); };
  for (size_t i = 0; i != kOperators; ++i) {
    std::vector<size_t> after = {last};
    if (i % 2 == 0) {
      after.push_back(add(tasks, true, time(30'000), {last - 1}));
      std::swap(after[0], after[1]);
    }
    std::ranges::sort(after);
    last = add(tasks, false, time(100'000), after);
    if (isBackward) {
      size_t gradient = add(tasks, false, time(90'000), {last});
      if (i % 2 == 0) {
        add(tasks, true, time(40'000), {gradient});
      }
    }
    if (i % (kOperators / 2) == kOperators / 2 - 1) {
      last = add(tasks, true, time(50'000), {last});
    }
  }
}

static Tasks trainingStep(std::mt19937 &draw) {
  Tasks tasks;
  size_t last = add(tasks, false, 1000, {});
  last = add(tasks, false, 1000, {last});
  for (bool isBackward : {false, true}) {
    for (size_t layer = 0; layer != kLayers; ++layer) {
      addLayer(tasks, draw, isBackward, last);
    }
  }
  return tasks;
}

static double seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// `task`, and the collectives that it waits for or that wait for it.
static std::vector<TaskTime> changeAt(const Tasks &tasks, size_t task,
                                      std::mt19937 &draw) {
  std::vector<TaskTime> changes;
  auto change = [&](size_t other) {
    int64_t time = tasks[other].nanoseconds;
    changes.push_back({other, time * int64_t(50 + draw() % 100) / 100});
  };
  change(task);
  for (size_t earlier : tasks[task].after) {
    if (tasks[earlier].meets) {
      change(earlier);
    }
  }
  for (size_t user = task + 1; user < std::min(task + 4, tasks.size());
       ++user) {
    if (tasks[user].meets && std::ranges::count(tasks[user].after, task)) {
      change(user);
    }
  }
  return changes;
}

static void compare() {
  std::mt19937 draw(1);
  Tasks tasks = trainingStep(draw);
  double begin = seconds();
  constexpr int kRuns = 10;
  for (int run = 0; run != kRuns; ++run) {
    DeltaSimulator whole(tasks);
  }
  double wholeTime = (seconds() - begin) / kRuns;
  DeltaSimulator simulator(tasks);
  std::vector<double> factors;
  double all = 0;
  for (size_t task = 0; task != tasks.size(); ++task) {
    if (tasks[task].meets) {
      continue;
    }
    std::vector<TaskTime> changes = changeAt(tasks, task, draw);
    double from = seconds();
    simulator.propose(changes);
    double time = seconds() - from;
    all += time;
    factors.push_back(wholeTime / time);
  }
  std::ranges::sort(factors);
  auto at = [&](double part) {
    return factors[size_t(part * double(factors.size() - 1))];
  };
  auto over = std::ranges::count_if(factors, [](double f) { return f >= 20; });
  std::printf(
      "%zu tasks: whole %.2f ms; after a change of one of %zu operators "
      "%.0f times as fast on average\n"
      "(least %.1f, 1%% %.0f, 10%% %.0f, median %.0f, 90%% %.0f; at "
      "least 20 times: %.1f %%)\n",
      tasks.size(), wholeTime * 1e3, factors.size(),
      wholeTime * double(factors.size()) / all, at(0), at(0.01), at(0.1),
      at(0.5), at(0.9), 100.0 * double(over) / double(factors.size()));
}

/// A million events: half of them of collectives, beside the operators.
static void simulateMany(size_t count) {
  Tasks tasks;
  size_t last = add(tasks, false, 100, {});
  while (tasks.size() < count) {
    add(tasks, true, 80, {last});
    last = add(tasks, false, 100, {last});
  }
  double begin = seconds();
  DeltaSimulator simulator(std::move(tasks));
  std::printf("%zu tasks in %.2f s\n", count, seconds() - begin);
}

int main() {
  compare();
  simulateMany(1'000'000);
  return EXIT_SUCCESS;
}
