//===- DeltaSimulator.cpp - Simulates again what changes ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing is stored of the moments in between: what is on its way at the begin
// of a round follows from when tasks began and ended.
//
//===----------------------------------------------------------------------===//

#include "divisi/Simulate/DeltaSimulator.h"

#include <algorithm>
#include <cassert>

using namespace divisi;

DeltaSimulator::DeltaSimulator(std::vector<ScheduleTask> tasks)
    : tasks_(std::move(tasks)), simulator_(tasks_),
      programs_(simulator_.numPrograms()), records_(tasks_.size()),
      isChanged_(tasks_.size()), fresh_(tasks_.size()), missing_(tasks_.size()),
      missingOf_(tasks_.size()) {
  connect();
  for (size_t task = 0; task != tasks_.size(); ++task) {
    if (!tasks_[task].meets) {
      programs_[tasks_[task].programs.front()].operators.push_back(task);
    }
  }
  for (size_t index = 0; index != programs_.size(); ++index) {
    if (programs_[index].operators.size() >
        programs_[anchor_].operators.size()) {
      anchor_ = index;
    }
  }
  simulate(-1);
  nanoseconds_ = simulator_.now();
  isOpen_ = true;
  accept();
}

void DeltaSimulator::connect() {
  userBegins_.assign(tasks_.size() + 1, 0);
  for (const ScheduleTask &task : tasks_) {
    for (size_t earlier : task.after) {
      ++userBegins_[earlier + 1];
    }
  }
  for (size_t task = 0; task != tasks_.size(); ++task) {
    userBegins_[task + 1] += userBegins_[task];
  }
  users_.resize(userBegins_.back());
  std::vector<size_t> next(userBegins_.begin(), userBegins_.end() - 1);
  for (size_t task = 0; task != tasks_.size(); ++task) {
    for (size_t earlier : tasks_[task].after) {
      users_[next[earlier]++] = task;
    }
  }
}

//===----------------------------------------------------------------------===//
// What is known of a task
//===----------------------------------------------------------------------===//

DeltaSimulator::Fresh &DeltaSimulator::fresh(size_t task) {
  Fresh &fresh = fresh_[task];
  if (fresh.proposal != proposal_) {
    fresh = {records_[task], proposal_, false, false};
    touched_.push_back(task);
  }
  return fresh;
}

const DeltaSimulator::Record &DeltaSimulator::record(size_t task) const {
  const Fresh &fresh = fresh_[task];
  return fresh.proposal == proposal_ ? fresh.record : records_[task];
}

/// Counted when it is first asked for: of what had ended before the proposal's
/// first round, nothing is told again.
size_t &DeltaSimulator::missing(size_t task) {
  if (missingOf_[task] != proposal_) {
    missingOf_[task] = proposal_;
    missing_[task] =
        size_t(std::ranges::count_if(tasks_[task].after, [&](size_t earlier) {
          return first_ < 0 || !hasEnded(earlier, first_);
        }));
  }
  return missing_[task];
}

/// How many of `list` were born before `round`; they are in that order.
size_t DeltaSimulator::bornBefore(const std::vector<size_t> &list,
                                  Round round) const {
  auto end = std::ranges::partition_point(
      list, [&](size_t task) { return records_[task].born < round; });
  return size_t(end - list.begin());
}

//===----------------------------------------------------------------------===//
// Simulating
//===----------------------------------------------------------------------===//

void DeltaSimulator::wake(size_t program) {
  if (!programs_[program].isWoken) {
    programs_[program].isWoken = true;
    woken_.push_back(program);
  }
}

void DeltaSimulator::noteBegin(size_t task) {
  begun_.push_back(task);
  pending_ -= isChanged_[task];
}

void DeltaSimulator::issue(size_t collective) {
  Fresh &fresh = this->fresh(collective);
  fresh.isBegun = true;
  fresh.record.begin = simulator_.beginCollective(collective);
  fresh.record.born = round_;
  noteBegin(collective);
  if (tasks_[collective].nanoseconds > 0) {
    for (size_t program : tasks_[collective].programs) {
      programs_[program].fresh.push_back(collective);
    }
  }
}

void DeltaSimulator::end(size_t task, int64_t now) {
  Fresh &fresh = this->fresh(task);
  fresh.isEnded = true;
  fresh.record.end = now;
  fresh.record.over = round_ + 1;
  if (!tasks_[task].meets) {
    wake(tasks_[task].programs.front());
  }
  for (size_t i = userBegins_[task]; i != userBegins_[task + 1]; ++i) {
    size_t user = users_[i];
    // It counts this task, whenever it is first asked for.
    if (--missing(user) != 0) {
      continue;
    }
    if (tasks_[user].meets) {
      issue(user);
    } else {
      wake(tasks_[user].programs.front());
    }
  }
}

void DeltaSimulator::startOperators() {
  std::ranges::sort(woken_);
  for (size_t index : woken_) {
    Program &program = programs_[index];
    program.isWoken = false;
    if (simulator_.isBusy(index) || program.next == program.operators.size()) {
      continue;
    }
    size_t task = program.operators[program.next];
    if (missing(task) != 0) {
      continue;
    }
    ++program.next;
    simulator_.beginOperator(task);
    Fresh &fresh = this->fresh(task);
    fresh.isBegun = true;
    fresh.record.begin = simulator_.now();
    fresh.record.born = round_;
    noteBegin(task);
  }
  woken_.clear();
}

/// Before all rounds.
void DeltaSimulator::beginAll() {
  simulator_.restart(0);
  for (Program &program : programs_) {
    program.next = program.kept = 0;
  }
  for (size_t task = 0; task != tasks_.size(); ++task) {
    if (tasks_[task].meets && tasks_[task].after.empty()) {
      issue(task);
    }
  }
}

/// At the begin of `first`.
void DeltaSimulator::resume(Round first) {
  int64_t now = roundTimes_[size_t(first)];
  simulator_.restart(now);
  resumed_.clear();
  for (Program &program : programs_) {
    program.next = bornBefore(program.operators, first);
    program.kept = bornBefore(program.links, first);
    int64_t since = now;
    if (program.next > 0) {
      size_t last = program.operators[program.next - 1];
      since = hasEnded(last, first) ? now : records_[last].begin;
    }
    for (size_t i = program.kept;
         i-- > 0 && records_[program.links[i]].end > since;) {
      resumed_.push_back(program.links[i]);
    }
  }
  std::ranges::sort(resumed_, [&](size_t a, size_t b) {
    return std::pair(records_[a].begin, a) < std::pair(records_[b].begin, b);
  });
  auto [end, last] = std::ranges::unique(resumed_);
  resumed_.erase(end, last);
  for (size_t collective : resumed_) {
    simulator_.resumeCollective(collective, records_[collective].begin);
  }
  for (const Program &program : programs_) {
    if (program.next > 0) {
      size_t task = program.operators[program.next - 1];
      if (!hasEnded(task, first)) {
        simulator_.resumeOperator(task, records_[task].begin);
      }
    }
  }
}

/// From the begin of the round `first` on, or from before all rounds.
void DeltaSimulator::simulate(Round first) {
  if (++proposal_ == 0) { // once in a blue moon, marks would be taken for new
    fresh_.assign(tasks_.size(), {});
    missingOf_.assign(tasks_.size(), 0);
    proposal_ = 1;
  }
  first_ = first;
  touched_.clear();
  begun_.clear();
  freshTimes_.clear();
  met_.reset();
  woken_.clear();
  for (size_t index = 0; index != programs_.size(); ++index) {
    programs_[index].fresh.clear();
    programs_[index].isWoken = false;
    wake(index);
  }
  round_ = first;
  if (first < 0) {
    beginAll();
    round_ = 0;
  } else {
    resume(first);
  }
  for (;; ++round_) {
    if (hasConverged()) {
      return;
    }
    freshTimes_.push_back(simulator_.now());
    startOperators();
    if (!simulator_.advance()) {
      return;
    }
    while (std::optional<size_t> task = simulator_.takeEnded()) {
      end(*task, simulator_.now());
    }
  }
}

//===----------------------------------------------------------------------===//
// Where all is as it was
//===----------------------------------------------------------------------===//

/// Whether the collectives of `program` that are on its links after `since`
/// are those of the round `old`, at times that are as far from its begin.
bool DeltaSimulator::areLinksAlike(const Program &program, Round old,
                                   int64_t since) const {
  int64_t now = simulator_.now();
  int64_t later = now - roundTimes_[size_t(old)];
  size_t theirs = bornBefore(program.links, old);
  size_t ours = program.kept + program.fresh.size();
  auto ourAt = [&](size_t i) {
    return i < program.kept ? program.links[i]
                            : program.fresh[i - program.kept];
  };
  auto ourEnd = [&](size_t task) {
    return record(task).begin + tasks_[task].nanoseconds;
  };
  for (;; --ours, --theirs) {
    bool isOurs = ours > 0 && ourEnd(ourAt(ours - 1)) > since;
    bool isTheirs =
        theirs > 0 && records_[program.links[theirs - 1]].end > since - later;
    if (!isOurs || !isTheirs) {
      return isOurs == isTheirs;
    }
    size_t task = ourAt(ours - 1);
    const Record &known = records_[task];
    int64_t begin = std::max(record(task).begin, since);
    if (task != program.links[theirs - 1] ||
        begin != std::max(known.begin + later, since) ||
        ourEnd(task) != known.end + later) {
      return false;
    }
  }
}

/// Whether `program` is now where it was at the begin of the round `old`.
bool DeltaSimulator::isAlike(const Program &program, Round old) const {
  auto isBornBefore = [&](size_t i) {
    return records_[program.operators[i]].born < old;
  };
  size_t next = program.next;
  if ((next > 0 && !isBornBefore(next - 1)) ||
      (next < program.operators.size() && isBornBefore(next))) {
    return false;
  }
  int64_t since = simulator_.now();
  if (next > 0) {
    size_t last = program.operators[next - 1];
    bool isRunning = simulator_.isBusy(tasks_[last].programs.front());
    if (isRunning == hasEnded(last, old)) {
      return false;
    }
    if (isRunning) {
      since = record(last).begin;
      int64_t later = simulator_.now() - roundTimes_[size_t(old)];
      if (isChanged_[last] || since != records_[last].begin + later) {
        return false;
      }
    }
  }
  return areLinksAlike(program, old, since);
}

/// What has ended is the same then, too: of the collectives that have ended
/// now and had not then, the first could not have begun.
bool DeltaSimulator::hasConverged() {
  const Program &anchor = programs_[anchor_];
  if (roundTimes_.empty() || pending_ > 0 || simulator_.isBusy(anchor_) ||
      anchor.next == anchor.operators.size()) {
    return false;
  }
  size_t next = anchor.operators[anchor.next];
  if (missing(next) != 0) {
    return false;
  }
  Round old = records_[next].born;
  bool isPast = std::ranges::all_of(changes_, [&](const TaskTime &change) {
    return records_[change.task].born < old;
  });
  if (!isPast || !std::ranges::all_of(programs_, [&](const Program &program) {
        return isAlike(program, old);
      })) {
    return false;
  }
  met_ = old;
  return true;
}

int64_t DeltaSimulator::propose(std::span<const TaskTime> changes) {
  auto setTimes = [&] {
    for (TaskTime &change : changes_) {
      std::swap(tasks_[change.task].nanoseconds, change.nanoseconds);
    }
  };
  if (isOpen_) {
    setTimes();
  }
  changes_.assign(changes.begin(), changes.end());
  std::erase_if(changes_, [&](const TaskTime &change) {
    return tasks_[change.task].nanoseconds == change.nanoseconds;
  });
  isOpen_ = !changes_.empty();
  begun_.clear();
  if (!isOpen_) {
    return nanoseconds_;
  }
  Round first = kNever;
  for (const TaskTime &change : changes_) {
    first = std::min(first, records_[change.task].born);
    isChanged_[change.task] = true;
  }
  setTimes();
  pending_ = changes_.size();
  // Collectives of no time that wait for nothing end in the first round.
  simulate(first == 0 ? -1 : first);
  for (const TaskTime &change : changes_) {
    isChanged_[change.task] = false;
  }
  return met_ ? nanoseconds_ + simulator_.now() - roundTimes_[size_t(*met_)]
              : simulator_.now();
}

//===----------------------------------------------------------------------===//
// Making it what is
//===----------------------------------------------------------------------===//

void DeltaSimulator::accept() {
  if (!isOpen_) {
    return;
  }
  isOpen_ = false;
  size_t first = size_t(std::max<Round>(first_, 0));
  size_t old = met_ ? size_t(*met_) : roundTimes_.size();
  int64_t later = 0;
  Round rounds = 0;
  if (met_) {
    later = simulator_.now() - roundTimes_[old];
    rounds = round_ - *met_;
    nanoseconds_ += later;
  } else {
    nanoseconds_ = simulator_.now();
  }
  // The collectives of the rounds in between; those after them stay.
  for (Program &program : programs_) {
    size_t stay =
        met_ ? bornBefore(program.links, *met_) : program.links.size();
    auto at =
        program.links.erase(program.links.begin() + ptrdiff_t(program.kept),
                            program.links.begin() + ptrdiff_t(stay));
    program.links.insert(at, program.fresh.begin(), program.fresh.end());
  }
  if (met_ && (later != 0 || rounds != 0)) {
    for (Record &record : records_) {
      bool isBorn = record.born >= *met_, isOver = record.over > *met_;
      record.begin += isBorn ? later : 0;
      record.born += isBorn ? rounds : 0;
      record.end += isOver ? later : 0;
      record.over += isOver ? rounds : 0;
    }
  }
  for (size_t task : touched_) {
    const Fresh &fresh = fresh_[task];
    if (fresh.isBegun) {
      records_[task].begin = fresh.record.begin;
      records_[task].born = fresh.record.born;
    }
    if (fresh.isEnded) {
      records_[task].end = fresh.record.end;
      records_[task].over = fresh.record.over;
    }
  }
  for (size_t round = old; round != roundTimes_.size(); ++round) {
    roundTimes_[round] += later;
  }
  auto at = roundTimes_.erase(roundTimes_.begin() + ptrdiff_t(first),
                              roundTimes_.begin() + ptrdiff_t(old));
  roundTimes_.insert(at, freshTimes_.begin(), freshTimes_.end());
}
