//===- EntryScheduler.h - The order of one entry ----------------*- C++ -*-===//
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

#ifndef DIVISI_PASSES_SCHEDULE_ENTRYSCHEDULER_H
#define DIVISI_PASSES_SCHEDULE_ENTRYSCHEDULER_H

#include "EntryTasks.h"
#include "divisi/Cost/ScheduleRecord.h"

namespace divisi {

/// Looks for the order of one entry.
class EntryScheduler {
public:
  /// Of functions of one entry, whose arenas may have `limits`.
  EntryScheduler(llvm::ArrayRef<mlir::func::FuncOp> functions,
                 llvm::ArrayRef<int64_t> limits)
      : functions_(functions), limits_(limits) {}

  /// What the entry takes in the order that it then has; nothing where it
  /// cannot be ordered. `moved` says whether that is another than before.
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
  EntryTasks entry_;
  std::vector<ScheduleTask> slow_;       ///< The tasks on slow links.
  std::vector<FunctionBuffers> buffers_; ///< Per function.
};

/// What the arena of each of an entry's functions needs in the order that it
/// has; nothing where an int64_t does not hold it.
std::optional<llvm::SmallVector<int64_t>>
arenasInOrder(llvm::ArrayRef<mlir::func::FuncOp> functions);

} // namespace divisi

#endif // DIVISI_PASSES_SCHEDULE_ENTRYSCHEDULER_H
