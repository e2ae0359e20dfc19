//===- EntryTasks.h - An entry as tasks -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the schedule of an entry depends on, as plain data: the functions that
// split-ranks has made of it are programs, their operators and collectives
// tasks. Functions that have a tag in common have that task in common.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SCHEDULE_ENTRYTASKS_H
#define DIVISI_LIB_SCHEDULE_ENTRYTASKS_H

#include "ListSchedule.h"
#include "dialects/NN/Bodies.h"
#include "divisi/Cost/OperationCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// The tasks of an entry.
struct EntryTasks {
  std::vector<ScheduleTask> tasks; ///< In an order in which they could run.
  /// Per task, its operation in each of its programs.
  std::vector<llvm::SmallVector<mlir::Operation *, 1>> operations;

  /// The operations of `program` as they are after `order` of the tasks. What
  /// is no task stands before its first user, or at the end.
  std::vector<mlir::Operation *> listOf(size_t program, mlir::func::FuncOp,
                                        llvm::ArrayRef<size_t> order) const;
};

/// Tells what all runs of a loop take, in nanoseconds; nothing if that is not
/// known.
using LoopTime = llvm::function_ref<std::optional<int64_t>(nn::LoopOp)>;

/// Reads the functions of one entry, as programs in this order; their
/// operations can move. Nothing where one has no price, or where functions have
/// what they do together in different orders. Loops are tasks if `loopTime` is
/// given, and else have none.
std::optional<EntryTasks>
readTasks(llvm::ArrayRef<mlir::func::FuncOp> functions, OperationCost &cost,
          LoopTime loopTime = nullptr);

} // namespace divisi

#endif // DIVISI_LIB_SCHEDULE_ENTRYTASKS_H
