//===- ListSchedule.cpp - When operators and collectives run --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListSchedule.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

using namespace divisi;

static constexpr size_t kNone = size_t(-1);

namespace {

/// What one program has left.
struct Program {
  std::vector<size_t> operators; ///< As they are given.
  size_t first = 0;              ///< Of `operators`, the first one left.
  /// Those within reach whose operands are there: the longest path to the end
  /// first.
  std::set<std::pair<int64_t, size_t>> ready;
  /// Those out of reach whose operands are there, by position.
  std::set<std::pair<size_t, size_t>> distant;
  int64_t fetched = 0;         ///< Bytes that are not in use.
  std::vector<size_t> fetches; ///< Collectives of weights, by their first use.
  size_t nextFetch = 0;
};

/// Chooses what begins while time is simulated.
class ListScheduler {
public:
  ListScheduler(std::span<const ScheduleTask> tasks,
                const ScheduleReach &reach);
  Schedule run();

private:
  void findFetches();
  void becomeReady(size_t task);
  void start(size_t collective);
  void startFetches(Program &program);
  void begin(Program &program, size_t task);
  void end(size_t task);
  bool endNext();
  void reachOn(Program &program);

  std::span<const ScheduleTask> tasks_;
  ScheduleReach reach_;
  std::vector<std::vector<size_t>> users_; ///< Per task.
  std::vector<size_t> missing_;            ///< Per task: operands not there.
  std::vector<int64_t> path_;              ///< Per task: its path to the end.
  std::vector<size_t> position_;           ///< Per operator, in its program.
  /// Per operator: collectives of weights that are in use once it begins.
  std::vector<std::vector<size_t>> uses_;
  std::vector<bool> isFetch_, isReleased_; ///< Per task.
  std::vector<size_t> firstUse_; ///< Per fetch: an operator, or kNone.
  std::vector<int64_t> ahead_;   ///< Per fetch: its bytes, until it is in use.
  EventSimulator simulator_;
  std::vector<Program> programs_;
  Schedule made_;
};

} // namespace

ListScheduler::ListScheduler(std::span<const ScheduleTask> tasks,
                             const ScheduleReach &reach)
    : tasks_(tasks), reach_(reach), users_(tasks.size()),
      missing_(tasks.size()), path_(tasks.size()), position_(tasks.size()),
      uses_(tasks.size()), isFetch_(tasks.size()), isReleased_(tasks.size()),
      firstUse_(tasks.size(), kNone), ahead_(tasks.size()), simulator_(tasks),
      programs_(simulator_.numPrograms()) {
  for (size_t task = 0; task < tasks.size(); ++task) {
    if (!tasks[task].meets) {
      Program &program = programs_[tasks[task].programs.front()];
      position_[task] = program.operators.size();
      program.operators.push_back(task);
    }
    missing_[task] = tasks[task].after.size();
    for (size_t earlier : tasks[task].after) {
      users_[earlier].push_back(task);
    }
  }
  for (size_t task = tasks.size(); task-- > 0;) {
    for (size_t user : users_[task]) {
      path_[task] = std::max(path_[task], path_[user]);
    }
    path_[task] += tasks[task].nanoseconds;
  }
  made_.begins.resize(tasks.size());
  made_.ends.resize(tasks.size());
  findFetches();
}

/// A fetch waits for nothing. It is in use once an operator begins that needs
/// it, or what other collectives make of it.
void ListScheduler::findFetches() {
  std::vector<std::vector<size_t>> carried(tasks_.size());
  std::vector<size_t> fetches;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    std::vector<size_t> &own = tasks_[task].meets ? carried[task] : uses_[task];
    for (size_t earlier : tasks_[task].after) {
      own.insert(own.end(), carried[earlier].begin(), carried[earlier].end());
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (!tasks_[task].meets) {
      for (size_t fetch : own) {
        firstUse_[fetch] = std::min(firstUse_[fetch], task);
      }
    } else if (tasks_[task].after.empty()) {
      isFetch_[task] = true;
      own = {task};
      fetches.push_back(task);
    }
  }
  std::stable_sort(fetches.begin(), fetches.end(), [&](size_t a, size_t b) {
    return firstUse_[a] < firstUse_[b];
  });
  for (size_t fetch : fetches) {
    // What no operator uses never comes into use.
    if (firstUse_[fetch] != kNone) {
      ahead_[fetch] = std::max<int64_t>(tasks_[fetch].bytes, 1);
    }
    programs_[tasks_[fetch].programs.front()].fetches.push_back(fetch);
  }
}

void ListScheduler::start(size_t collective) {
  made_.order.push_back(collective);
  simulator_.beginCollective(collective);
}

void ListScheduler::startFetches(Program &program) {
  for (; program.nextFetch < program.fetches.size(); ++program.nextFetch) {
    size_t fetch = program.fetches[program.nextFetch];
    int64_t bytes = ahead_[fetch];
    // An operator may need several.
    bool isSameUse =
        program.nextFetch > 0 &&
        firstUse_[fetch] == firstUse_[program.fetches[program.nextFetch - 1]];
    if (program.fetched != 0 && program.fetched + bytes > reach_.bytes &&
        !isSameUse) {
      return;
    }
    program.fetched += bytes;
    start(fetch);
  }
}

void ListScheduler::becomeReady(size_t task) {
  if (!tasks_[task].meets) {
    Program &program = programs_[tasks_[task].programs.front()];
    if (position_[task] - program.first < reach_.operators) {
      program.ready.insert({-path_[task], task});
    } else {
      program.distant.insert({position_[task], task});
    }
  } else if (!isFetch_[task]) {
    start(task);
  }
}

/// Where the first operators of `program` have begun, others come into reach.
void ListScheduler::reachOn(Program &program) {
  while (!program.distant.empty()) {
    auto [position, task] = *program.distant.begin();
    if (position - program.first >= reach_.operators) {
      return;
    }
    program.distant.erase(program.distant.begin());
    program.ready.insert({-path_[task], task});
  }
}

void ListScheduler::begin(Program &program, size_t task) {
  for (size_t fetch : uses_[task]) {
    if (!isReleased_[fetch]) {
      isReleased_[fetch] = true;
      Program &owner = programs_[tasks_[fetch].programs.front()];
      owner.fetched -= ahead_[fetch];
      startFetches(owner);
    }
  }
  made_.order.push_back(task);
  made_.begins[task] = simulator_.now();
  program.ready.erase({-path_[task], task});
  simulator_.beginOperator(task);
}

void ListScheduler::end(size_t task) {
  made_.ends[task] = simulator_.now();
  if (tasks_[task].meets) { // it may have waited for the links
    made_.begins[task] = simulator_.now() - tasks_[task].nanoseconds;
  }
  for (size_t user : users_[task]) {
    if (--missing_[user] == 0) {
      becomeReady(user);
    }
  }
}

/// All that ends next, before anything begins; whether there is something.
bool ListScheduler::endNext() {
  bool isThere = simulator_.advance();
  while (std::optional<size_t> task = simulator_.takeEnded()) {
    end(*task);
  }
  return isThere;
}

Schedule ListScheduler::run() {
  std::vector<bool> hasBegun(tasks_.size());
  for (Program &program : programs_) {
    startFetches(program);
  }
  for (size_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].after.empty()) {
      becomeReady(task);
    }
  }
  do {
    for (size_t index = 0; index < programs_.size(); ++index) {
      Program &program = programs_[index];
      if (simulator_.isBusy(index) || program.ready.empty()) {
        continue;
      }
      size_t next = program.ready.begin()->second;
      begin(program, next);
      hasBegun[next] = true;
      while (program.first < program.operators.size() &&
             hasBegun[program.operators[program.first]]) {
        ++program.first;
      }
      reachOn(program);
    }
  } while (endNext());
  assert(made_.order.size() == tasks_.size() && "a task waits for itself");
  SimulatedTimes times = simulator_.times();
  made_.nanoseconds = times.nanoseconds;
  made_.communication = times.communication;
  made_.exposed = times.exposed;
  return std::move(made_);
}

Schedule divisi::makeSchedule(std::span<const ScheduleTask> tasks,
                              const ScheduleReach &reach) {
  return ListScheduler(tasks, reach).run();
}
