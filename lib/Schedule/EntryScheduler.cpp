//===- EntryScheduler.cpp - The order of one entry ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Schedule/EntryScheduler.h"

#include "EntryTasks.h"
#include "FunctionBuffers.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Schedule/LocalOperation.h"

#include <limits>

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

/// Orders that take at most so many times as long as the fastest compete by
/// memory.
static constexpr double kNearlyAsFast = 1.02;
/// So much of the communication an order has to save to be taken.
static constexpr double kWorthwhile = 0.01;
/// How many orders have their arenas planned, at most.
static constexpr size_t kMostPlanned = 6;

namespace {

/// Looks for the order of one entry.
class EntryScheduler {
public:
  /// Of functions of one entry, whose arenas may have `limits`.
  EntryScheduler(llvm::ArrayRef<mlir::func::FuncOp> functions,
                 llvm::ArrayRef<int64_t> limits, std::optional<int64_t> ahead)
      : functions_(functions), limits_(limits), ahead_(ahead) {}

  /// As orderEntry.
  std::optional<ScheduleRecord> run(OperationCost &cost, bool &moved);

private:
  /// An order, and what its arenas need at least.
  struct Candidate {
    ScheduleReach reach;
    Schedule schedule;                           ///< On slow links.
    std::vector<std::vector<ArenaBlock>> blocks; ///< Per function.
    int64_t bytes = 0;                           ///< Of all functions.
  };

  bool readBuffers();
  std::vector<Candidate> candidates() const;
  std::optional<Candidate> candidate(const ScheduleReach &reach) const;
  std::optional<Candidate> best() const;
  bool fits(const Candidate &candidate) const;
  void slowLinks();
  Schedule predict(const Candidate &candidate) const;
  void apply(const Schedule &schedule);
  ScheduleRecord unchanged() const;

  llvm::ArrayRef<mlir::func::FuncOp> functions_;
  llvm::ArrayRef<int64_t> limits_; ///< Of arenas, per function.
  std::optional<int64_t> ahead_;   ///< As orderEntry.
  EntryTasks entry_;
  std::vector<ScheduleTask> slow_;       ///< The tasks on slow links.
  std::vector<FunctionBuffers> buffers_; ///< Per function.
};

} // namespace

bool EntryScheduler::readBuffers() {
  for (func::FuncOp function : functions_) {
    std::optional<FunctionBuffers> buffers =
        FunctionBuffers::read(function, functions_.size() == 1);
    if (!buffers) {
      return false;
    }
    buffers_.push_back(std::move(*buffers));
  }
  return true;
}

/// Nothing where it needs more memory than there may be.
std::optional<EntryScheduler::Candidate>
EntryScheduler::candidate(const ScheduleReach &reach) const {
  Candidate made{reach, makeSchedule(slow_, reach), {}, 0};
  for (auto [program, function] : llvm::enumerate(functions_)) {
    std::vector<Operation *> list =
        entry_.listOf(program, function, made.schedule.order);
    made.blocks.push_back(buffers_[program].blocks(list, /*overlaps=*/true));
    std::optional<int64_t> least = leastArena(made.blocks.back());
    if (!least || *least > limits_[program]) {
      return std::nullopt;
    }
    made.bytes += *least;
  }
  return made;
}

std::vector<EntryScheduler::Candidate> EntryScheduler::candidates() const {
  int64_t largest = 0;
  for (const ScheduleTask &task : entry_.tasks) {
    if (task.meets && task.after.empty()) {
      largest = std::max(largest, task.bytes);
    }
  }
  SmallVector<int64_t, 5> ahead = {0};
  for (int64_t times : {1, 2, 4, 16}) {
    if (largest > 0 && largest <= std::numeric_limits<int64_t>::max() / times) {
      ahead.push_back(largest * times);
    }
  }
  if (ahead_) {
    ahead = {*ahead_};
  }
  SmallVector<size_t, 5> reaches = {1};
  // What a pipeline's schedule says of operators is done.
  if (!functions_.front()->hasAttr(pipe::PipeDialect::kSchedule)) {
    reaches.append({4, 16, 64, entry_.tasks.size()});
  }
  std::vector<Candidate> made;
  for (size_t operators : reaches) {
    for (int64_t bytes : ahead) {
      if (std::optional<Candidate> one = candidate({operators, bytes})) {
        made.push_back(std::move(*one));
      }
    }
  }
  return made;
}

/// Makes communication take as long as computing, if it takes less.
void EntryScheduler::slowLinks() {
  slow_ = entry_.tasks;
  double computing = 0, communication = 0;
  for (const ScheduleTask &task : slow_) {
    (task.meets ? communication : computing) += double(task.nanoseconds);
  }
  for (ScheduleTask &task : slow_) {
    if (task.meets && computing > communication) {
      task.nanoseconds =
          int64_t(double(task.nanoseconds) * computing / communication);
    }
  }
}

/// What the order takes on links as they are said to be.
Schedule EntryScheduler::predict(const Candidate &candidate) const {
  llvm::ArrayRef<size_t> order = candidate.schedule.order;
  std::vector<size_t> place(order.size());
  std::vector<ScheduleTask> tasks;
  for (auto [index, task] : llvm::enumerate(order)) {
    place[task] = index;
    ScheduleTask &moved = tasks.emplace_back(entry_.tasks[task]);
    for (size_t &earlier : moved.after) {
      earlier = place[earlier];
    }
  }
  return makeSchedule(tasks, {1, candidate.reach.bytes});
}

bool EntryScheduler::fits(const Candidate &candidate) const {
  return llvm::all_of(
      llvm::zip_equal(candidate.blocks, limits_), [](const auto &pair) {
        const auto &[blocks, limit] = pair;
        std::optional<ArenaPlan> plan =
            planArena(blocks, kArenaAlignment, limit);
        return plan && plan->bytes <= limit;
      });
}

std::optional<EntryScheduler::Candidate> EntryScheduler::best() const {
  std::vector<Candidate> all = candidates();
  int64_t inTurn = timeInTurn(slow_);
  llvm::erase_if(all, [&](const Candidate &one) {
    const Schedule &schedule = one.schedule;
    return double(inTurn - schedule.nanoseconds) <=
           kWorthwhile * double(schedule.communication);
  });
  int64_t fastest = std::numeric_limits<int64_t>::max();
  for (const Candidate &one : all) {
    fastest = std::min(fastest, one.schedule.nanoseconds);
  }
  auto rank = [&](const Candidate &one) {
    int64_t time = one.schedule.nanoseconds;
    bool isNear = double(time) <= kNearlyAsFast * double(fastest);
    return std::pair(isNear ? 0 : time, one.bytes);
  };
  llvm::stable_sort(all, [&](const Candidate &a, const Candidate &b) {
    return rank(a) < rank(b);
  });
  for (Candidate &one : llvm::MutableArrayRef(all).take_front(kMostPlanned)) {
    if (fits(one)) {
      return std::move(one);
    }
  }
  return std::nullopt;
}

/// Numbers what ranks do together in the order of all tasks: it grows in each
/// function.
void EntryScheduler::apply(const Schedule &schedule) {
  for (size_t program = 0; program < functions_.size(); ++program) {
    func::FuncOp function = functions_[program];
    for (Operation *op : entry_.listOf(program, function, schedule.order)) {
      op->moveBefore(&function.front(), function.front().end());
    }
    function->setAttr(SPMDDialect::kOverlap,
                      UnitAttr::get(function.getContext()));
  }
  uint64_t tag = 0;
  for (size_t task : schedule.order) {
    if (!entry_.tasks[task].meets) {
      continue;
    }
    for (Operation *op : entry_.operations[task]) {
      setTag(op, tag);
    }
    ++tag;
  }
}

/// As nothing overlaps.
ScheduleRecord EntryScheduler::unchanged() const {
  std::vector<int64_t> communication(functions_.size());
  for (const ScheduleTask &task : entry_.tasks) {
    for (size_t program : task.programs) {
      communication[program] += task.meets ? task.nanoseconds : 0;
    }
  }
  int64_t most = *llvm::max_element(communication);
  return {"", timeInTurn(entry_.tasks), most, most};
}

std::optional<ScheduleRecord> EntryScheduler::run(OperationCost &cost,
                                                  bool &moved) {
  std::optional<EntryTasks> entry = readTasks(functions_, cost);
  if (!entry) {
    return std::nullopt;
  }
  entry_ = std::move(*entry);
  ScheduleRecord record = unchanged();
  std::optional<Candidate> found;
  bool mayMove = record.communication > 0 && ahead_.value_or(0) >= 0;
  if (mayMove && readBuffers()) {
    slowLinks();
    found = best();
  }
  moved = found.has_value();
  if (found) {
    Schedule schedule = predict(*found);
    apply(found->schedule);
    record.nanoseconds = schedule.nanoseconds;
    record.communication = schedule.communication;
    record.exposed = schedule.exposed;
    record.fetchedAhead = found->reach.bytes;
  }
  return record;
}

std::optional<ScheduleRecord>
divisi::orderEntry(ArrayRef<func::FuncOp> functions, ArrayRef<int64_t> limits,
                   OperationCost &cost, bool &moved,
                   std::optional<int64_t> ahead) {
  return EntryScheduler(functions, limits, ahead).run(cost, moved);
}

std::optional<SmallVector<int64_t>>
divisi::arenasInOrder(ArrayRef<func::FuncOp> functions) {
  SmallVector<int64_t> bytes;
  for (func::FuncOp function : functions) {
    std::optional<FunctionBuffers> buffers =
        FunctionBuffers::read(function, functions.size() == 1);
    auto order = llvm::map_to_vector(function.front(),
                                     [](Operation &op) { return &op; });
    std::optional<ArenaPlan> plan =
        buffers ? planArena(buffers->blocks(order, /*overlaps=*/false))
                : std::nullopt;
    if (!plan) {
      return std::nullopt;
    }
    bytes.push_back(plan->bytes);
  }
  return bytes;
}
