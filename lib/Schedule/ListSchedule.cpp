//===- ListSchedule.cpp - When operators and collectives run --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Schedule/ListSchedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

using namespace divisi;

static constexpr size_t kNone = size_t(-1);

namespace {

/// A collective on the links of a program.
struct Interval {
  int64_t begin, end;
  double slowdown;
};

/// What one program is at.
struct Program {
  std::vector<size_t> operators; ///< As they are given.
  size_t first = 0;              ///< Of `operators`, the first one left.
  /// Those whose operands are there: the longest way to the end first.
  std::set<std::pair<int64_t, size_t>> ready;
  size_t running = kNone;      ///< An operator.
  int64_t since = 0, end = 0;  ///< It runs, as far as is known.
  std::vector<Interval> links; ///< Ascending, apart.
  size_t current = 0;          ///< Of `links`, the first not over.
  int64_t fetched = 0;         ///< Bytes that are not in use.
  std::vector<size_t> fetches; ///< Collectives of weights, by their first use.
  size_t nextFetch = 0;
  int64_t communication = 0, hidden = 0;
};

/// The tasks of an entry, on their way.
class Simulation {
public:
  Simulation(std::span<const ScheduleTask> tasks, const ScheduleReach &reach);
  Schedule run();

private:
  void findFetches();
  void becomeReady(size_t task);
  void start(size_t collective);
  void startFetches(Program &program);
  void begin(Program &program, size_t task);
  void end(size_t task);
  void predict(size_t program);
  size_t choose(const Program &program) const;

  std::span<const ScheduleTask> tasks_;
  ScheduleReach reach_;
  std::vector<std::vector<size_t>> users_; ///< Per task.
  std::vector<size_t> missing_;            ///< Per task: operands not there.
  std::vector<int64_t> way_;               ///< Per task: to the end.
  std::vector<size_t> position_;           ///< Per operator, in its program.
  /// Per operator: collectives of weights that are in use once it begins.
  std::vector<std::vector<size_t>> uses_;
  std::vector<bool> isFetch_, isReleased_; ///< Per task.
  std::vector<size_t> firstUse_; ///< Per fetch: an operator, or kNone.
  std::vector<int64_t> ahead_;   ///< Per fetch: its bytes, until it is in use.
  std::vector<Program> programs_;
  /// When running operators (by program) and collectives end.
  std::set<std::tuple<int64_t, bool, size_t>> ends_;
  int64_t now_ = 0;
  Schedule made_;
};

} // namespace

Simulation::Simulation(std::span<const ScheduleTask> tasks,
                       const ScheduleReach &reach)
    : tasks_(tasks), reach_(reach), users_(tasks.size()),
      missing_(tasks.size()), way_(tasks.size()), position_(tasks.size()),
      uses_(tasks.size()), isFetch_(tasks.size()), isReleased_(tasks.size()),
      firstUse_(tasks.size(), kNone), ahead_(tasks.size()) {
  for (size_t task = 0; task < tasks.size(); ++task) {
    for (size_t program : tasks[task].programs) {
      programs_.resize(std::max(programs_.size(), program + 1));
    }
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
      way_[task] = std::max(way_[task], way_[user]);
    }
    way_[task] += tasks[task].nanoseconds;
  }
  findFetches();
}

/// A fetch waits for nothing. It is in use once an operator begins that needs
/// it, or what other collectives make of it.
void Simulation::findFetches() {
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

/// When the operator that runs will have ended, as far as is known.
void Simulation::predict(size_t index) {
  Program &program = programs_[index];
  if (program.running == kNone) {
    return;
  }
  double left = double(tasks_[program.running].nanoseconds);
  double time = double(program.since);
  for (size_t i = program.current; i < program.links.size() && left > 0; ++i) {
    const auto &[begin, end, slowdown] = program.links[i];
    double free = std::clamp(double(begin) - time, 0.0, left);
    time += free;
    left -= free;
    double shared = std::clamp(double(end) - time, 0.0, left * slowdown);
    time += shared;
    left -= shared / slowdown;
  }
  ends_.erase({program.end, false, index});
  program.end = int64_t(std::ceil(time + std::max(left, 0.0)));
  ends_.insert({program.end, false, index});
}

/// What collectives hide of themselves behind the operator that ends now.
static int64_t hiddenBy(const Program &program, int64_t nanoseconds) {
  int64_t hidden = nanoseconds - (program.end - program.since);
  for (size_t i = program.current; i < program.links.size(); ++i) {
    const Interval &link = program.links[i];
    hidden += std::max<int64_t>(std::min(link.end, program.end) -
                                    std::max(link.begin, program.since),
                                0);
  }
  return hidden;
}

void Simulation::start(size_t collective) {
  const ScheduleTask &task = tasks_[collective];
  int64_t begin = now_;
  for (size_t program : task.programs) {
    const std::vector<Interval> &links = programs_[program].links;
    begin = std::max(begin, links.empty() ? 0 : links.back().end);
  }
  made_.order.push_back(collective);
  ends_.insert({begin + task.nanoseconds, true, collective});
  for (size_t program : task.programs) {
    programs_[program].communication += task.nanoseconds;
    programs_[program].links.push_back(
        {begin, begin + task.nanoseconds, task.slowdown});
    predict(program);
  }
}

void Simulation::startFetches(Program &program) {
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

void Simulation::becomeReady(size_t task) {
  if (!tasks_[task].meets) {
    programs_[tasks_[task].programs.front()].ready.insert({-way_[task], task});
  } else if (!isFetch_[task]) {
    start(task);
  }
}

/// The next operator of `program`, or kNone.
size_t Simulation::choose(const Program &program) const {
  for (auto [way, task] : program.ready) {
    if (position_[task] - program.first < reach_.operators) {
      return task;
    }
  }
  return kNone;
}

void Simulation::begin(Program &program, size_t task) {
  for (size_t fetch : uses_[task]) {
    if (!isReleased_[fetch]) {
      isReleased_[fetch] = true;
      Program &owner = programs_[tasks_[fetch].programs.front()];
      owner.fetched -= ahead_[fetch];
      startFetches(owner);
    }
  }
  made_.order.push_back(task);
  program.ready.erase({-way_[task], task});
  program.running = task;
  program.since = now_;
  while (program.current < program.links.size() &&
         program.links[program.current].end <= now_) {
    ++program.current;
  }
  predict(tasks_[task].programs.front());
}

void Simulation::end(size_t task) {
  for (size_t user : users_[task]) {
    if (--missing_[user] == 0) {
      becomeReady(user);
    }
  }
}

Schedule Simulation::run() {
  std::vector<bool> hasBegun(tasks_.size());
  for (Program &program : programs_) {
    startFetches(program);
  }
  for (size_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].after.empty()) {
      becomeReady(task);
    }
  }
  while (true) {
    for (Program &program : programs_) {
      size_t next = program.running == kNone ? choose(program) : kNone;
      if (next == kNone) {
        continue;
      }
      begin(program, next);
      hasBegun[next] = true;
      while (program.first < program.operators.size() &&
             hasBegun[program.operators[program.first]]) {
        ++program.first;
      }
    }
    if (ends_.empty()) {
      break;
    }
    now_ = std::get<0>(*ends_.begin());
    // All that ends now, before anything begins.
    while (!ends_.empty() && std::get<0>(*ends_.begin()) == now_) {
      auto [time, meets, index] = *ends_.begin();
      ends_.erase(ends_.begin());
      size_t task = index;
      if (!meets) {
        Program &program = programs_[index];
        task = std::exchange(program.running, kNone);
        program.hidden += hiddenBy(program, tasks_[task].nanoseconds);
      }
      end(task);
    }
  }
  assert(made_.order.size() == tasks_.size() && "a task waits for itself");
  made_.nanoseconds = now_;
  for (const Program &program : programs_) {
    int64_t exposed = program.communication - program.hidden;
    if (program.communication > made_.communication) {
      made_.communication = program.communication;
      made_.exposed = exposed;
    }
  }
  return std::move(made_);
}

Schedule divisi::makeSchedule(std::span<const ScheduleTask> tasks,
                              const ScheduleReach &reach) {
  return Simulation(tasks, reach).run();
}

int64_t divisi::timeInTurn(std::span<const ScheduleTask> tasks) {
  std::map<size_t, int64_t> free; // by program
  int64_t last = 0;
  for (const ScheduleTask &task : tasks) {
    int64_t end = 0;
    for (size_t program : task.programs) {
      end = std::max(end, free[program]);
    }
    end += task.nanoseconds;
    for (size_t program : task.programs) {
      free[program] = end;
    }
    last = std::max(last, end);
  }
  return last;
}
