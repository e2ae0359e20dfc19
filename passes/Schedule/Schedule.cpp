//===- Schedule.cpp - Order operations so that they overlap ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries how far operators may be moved and how much may be fetched ahead, and
// takes the fastest order whose arenas are small enough:
//
//   operators ahead   1   4   16   64   all
//   fetched ahead     one weight, the largest, 2, 4, 16 times that
//
// Of orders that take nearly the same, the one that needs least memory. They
// are made for links on which communication takes as long as computing, where
// it is predicted to take less: that hides it on slower links, too.
//
//===----------------------------------------------------------------------===//

#include "EntryTasks.h"
#include "divisi/Artifact/Memory.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Plan/PlanRecord.h"
#include "passes/Lower/Passes.h"
#include "passes/ModuleNotes.h"
#include "passes/Schedule/LocalOperation.h"
#include "passes/Schedule/Passes.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

#define DEBUG_TYPE "schedule-overlap"

namespace divisi {
#define GEN_PASS_DEF_SCHEDULEOVERLAP
#include "passes/Schedule/Passes.h.inc"
} // namespace divisi

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

/// An order, and what its arenas need at least.
struct Candidate {
  ScheduleReach reach;
  Schedule schedule;                           ///< On slow links.
  std::vector<std::vector<ArenaBlock>> blocks; ///< Per function.
  int64_t bytes = 0;                           ///< Of all functions.
};

/// Looks for the order of one entry.
class EntryScheduler {
public:
  /// Of functions of one entry, whose arenas may grow by `growth`.
  EntryScheduler(ArrayRef<func::FuncOp> functions, int64_t growth)
      : functions_(functions), growth_(growth) {}

  /// What the entry takes in the order that it then has; nothing where it
  /// cannot be ordered. `moved` says whether that is another than before.
  std::optional<ScheduleRecord> run(OperationCost &cost, bool &moved);

private:
  bool readBuffers();
  std::vector<Candidate> candidates() const;
  std::optional<Candidate> candidate(const ScheduleReach &reach) const;
  std::optional<Candidate> best() const;
  bool fits(const Candidate &candidate) const;
  void slowLinks();
  Schedule predict(const Candidate &candidate) const;
  void apply(const Schedule &schedule);
  ScheduleRecord unchanged() const;

  ArrayRef<func::FuncOp> functions_;
  int64_t growth_;
  EntryTasks entry_;
  std::vector<ScheduleTask> slow_;       ///< The tasks on slow links.
  std::vector<FunctionBuffers> buffers_; ///< Per function.
  std::vector<int64_t> limits_;          ///< Of arenas, per function.
};

/// See Passes.td.
class ScheduleOverlapPass
    : public divisi::impl::ScheduleOverlapBase<ScheduleOverlapPass> {
public:
  using ScheduleOverlapBase::ScheduleOverlapBase;
  void runOnOperation() override;

private:
  int64_t roomFor(const Cluster &cluster);
};

} // namespace

/// What arenas may have: what they need now, and the growth.
bool EntryScheduler::readBuffers() {
  for (func::FuncOp function : functions_) {
    std::optional<FunctionBuffers> buffers = FunctionBuffers::read(function);
    if (!buffers) {
      return false;
    }
    auto order = llvm::map_to_vector(function.front(),
                                     [](Operation &op) { return &op; });
    std::optional<ArenaPlan> plan =
        planArena(buffers->blocks(order, /*overlaps=*/false));
    if (!plan) {
      return false;
    }
    limits_.push_back(plan->bytes + growth_);
    buffers_.push_back(std::move(*buffers));
  }
  return true;
}

/// Nothing where it needs more memory than there may be.
std::optional<Candidate>
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

std::vector<Candidate> EntryScheduler::candidates() const {
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
  std::vector<Candidate> made;
  for (size_t operators :
       {size_t(1), size_t(4), size_t(16), size_t(64), entry_.tasks.size()}) {
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
        std::optional<ArenaPlan> plan = planArena(std::get<0>(pair));
        return plan && plan->bytes <= std::get<1>(pair);
      });
}

std::optional<Candidate> EntryScheduler::best() const {
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
      if (auto transfer = dyn_cast<TransferOp>(op)) {
        transfer.setTag(tag);
      } else {
        cast<StepInterface>(op).setTag(tag);
      }
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
  if (record.communication > 0 && readBuffers()) {
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
  }
  return record;
}

/// Whether ranks do anything together.
static bool meets(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return isEntry(function) &&
           llvm::any_of(function.front(),
                        [](Operation &op) { return tagOf(&op).has_value(); });
  });
}

/// By how much arenas may grow; 0 if what devices hold cannot be known.
int64_t ScheduleOverlapPass::roomFor(const Cluster &cluster) {
  OwningOpRef<ModuleOp> trial = getOperation().clone();
  PassManager passes(&getContext());
  buildLowerPipeline(passes);
  // What is wrong is said when the module itself is lowered.
  ScopedDiagnosticHandler quiet(&getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(passes.run(*trial))) {
    return 0;
  }
  divisi::Expected<std::vector<rt::RankMemory>> ranks =
      predictMemory(*trial, hasKnownKernels(cluster));
  divisi::Expected<std::optional<PlanRecord>> record =
      getPlanRecord(getOperation());
  if (!ranks || !record) {
    return 0;
  }
  std::optional<int64_t> given =
      *record ? (*record)->memoryLimit : std::nullopt;
  std::optional<int64_t> room;
  for (auto [rank, held] : llvm::enumerate(*ranks)) {
    int64_t limit = cluster.memoryLimit(cluster.kindOf(int64_t(rank)), given);
    int64_t left = std::max<int64_t>(limit - held.total(), 0);
    int64_t own = given == limit ? left : std::min(left, held.total() / 2);
    if (held.total() > 0) {
      room = std::min(room.value_or(own), own);
    }
  }
  return room.value_or(0);
}

void ScheduleOverlapPass::runOnOperation() {
  ModuleOp module = getOperation();
  divisi::Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    emitStatus(module.getLoc(), cluster.status());
    return signalPassFailure();
  }
  llvm::MapVector<StringRef, SmallVector<func::FuncOp>> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto entry = function->getAttrOfType<StringAttr>(SPMDDialect::kEntry);
    if (entry && isEntry(function)) {
      entries[entry.getValue()].push_back(function);
    }
  }
  if (!growth && meets(module)) {
    growth = roomFor(*cluster);
  }
  OperationCost cost(module, *cluster);
  std::vector<ScheduleRecord> records;
  for (auto &[name, functions] : entries) {
    bool moved = false;
    std::optional<ScheduleRecord> record =
        EntryScheduler(functions, growth.value_or(0)).run(cost, moved);
    numOverlapped += moved;
    if (record) {
      record->entry = name.str();
      records.push_back(std::move(*record));
    }
  }
  setScheduleRecords(module, records);
  noteOnModule(module, kStageAttr, "schedule");
}
