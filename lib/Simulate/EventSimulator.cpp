//===- EventSimulator.cpp - Operators and collectives over time -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Simulate/EventSimulator.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

using namespace divisi;

EventSimulator::EventSimulator(std::span<const ScheduleTask> tasks)
    : tasks_(tasks) {
  for (const ScheduleTask &task : tasks) {
    for (size_t program : task.programs) {
      programs_.resize(std::max(programs_.size(), program + 1));
    }
  }
}

bool EventSimulator::isBusy(size_t program) const {
  return programs_[program].running.has_value();
}

/// When the operator that runs will have ended, as far as is known. Counted
/// from its begin, so that it does not depend on when that is.
void EventSimulator::predict(size_t index) {
  Program &program = programs_[index];
  if (!program.running) {
    return;
  }
  double left = double(tasks_[*program.running].nanoseconds);
  double time = 0;
  for (size_t i = program.current; i < program.links.size() && left > 0; ++i) {
    const auto &[begin, end, slowdown] = program.links[i];
    double free = std::clamp(double(begin - program.since) - time, 0.0, left);
    time += free;
    left -= free;
    double shared =
        std::clamp(double(end - program.since) - time, 0.0, left * slowdown);
    time += shared;
    left -= shared / slowdown;
  }
  ends_.erase({program.end, false, index});
  program.end = program.since + int64_t(std::ceil(time + std::max(left, 0.0)));
  ends_.insert({program.end, false, index});
}

/// What collectives hide of themselves behind the operator that ends now.
int64_t EventSimulator::hiddenBy(const Program &program, int64_t nanoseconds) {
  int64_t hidden = nanoseconds - (program.end - program.since);
  for (size_t i = program.current; i < program.links.size(); ++i) {
    const Interval &link = program.links[i];
    hidden += std::max<int64_t>(std::min(link.end, program.end) -
                                    std::max(link.begin, program.since),
                                0);
  }
  return hidden;
}

void EventSimulator::begin(size_t task, int64_t since) {
  size_t index = tasks_[task].programs.front();
  assert(!isBusy(index) && "a program runs one operator at a time");
  Program &program = programs_[index];
  program.running = task;
  program.since = since;
  while (program.current < program.links.size() &&
         program.links[program.current].end <= since) {
    ++program.current;
  }
  predict(index);
}

void EventSimulator::beginOperator(size_t task) { begin(task, now_); }

void EventSimulator::putOnLinks(size_t collective, int64_t begin) {
  const ScheduleTask &task = tasks_[collective];
  for (size_t program : task.programs) {
    programs_[program].links.push_back(
        {begin, begin + task.nanoseconds, task.slowdown});
  }
}

int64_t EventSimulator::beginCollective(size_t collective) {
  const ScheduleTask &task = tasks_[collective];
  int64_t begin = now_;
  if (task.nanoseconds == 0) {
    ends_.insert({begin, true, collective});
    return begin;
  }
  for (size_t program : task.programs) {
    const std::vector<Interval> &links = programs_[program].links;
    begin = std::max(begin, links.empty() ? 0 : links.back().end);
  }
  ends_.insert({begin + task.nanoseconds, true, collective});
  putOnLinks(collective, begin);
  for (size_t program : task.programs) {
    programs_[program].communication += task.nanoseconds;
    predict(program);
  }
  return begin;
}

void EventSimulator::restart(int64_t now) {
  now_ = now;
  ends_.clear();
  for (Program &program : programs_) {
    program.running.reset();
    program.links.clear();
    program.current = 0;
  }
}

void EventSimulator::resumeCollective(size_t task, int64_t begin) {
  putOnLinks(task, begin);
  if (int64_t end = begin + tasks_[task].nanoseconds; end > now_) {
    ends_.insert({end, true, task});
  }
}

void EventSimulator::resumeOperator(size_t task, int64_t since) {
  begin(task, since);
}

bool EventSimulator::advance() {
  if (ends_.empty()) {
    return false;
  }
  now_ = std::get<0>(*ends_.begin());
  return true;
}

std::optional<size_t> EventSimulator::takeEnded() {
  if (ends_.empty() || std::get<0>(*ends_.begin()) != now_) {
    return std::nullopt;
  }
  auto [time, meets, index] = *ends_.begin();
  ends_.erase(ends_.begin());
  if (meets) {
    return index;
  }
  Program &program = programs_[index];
  size_t task = *std::exchange(program.running, std::nullopt);
  program.hidden += hiddenBy(program, tasks_[task].nanoseconds);
  return task;
}

SimulatedTimes EventSimulator::times() const {
  SimulatedTimes times{.nanoseconds = now_};
  for (const Program &program : programs_) {
    if (program.communication > times.communication) {
      times.communication = program.communication;
      times.exposed = program.communication - program.hidden;
    }
  }
  return times;
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
