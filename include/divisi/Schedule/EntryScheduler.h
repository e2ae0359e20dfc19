//===- EntryScheduler.h - The order of one entry ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries how far operators may move and how much may be prefetched, and takes
// the fastest order whose arenas are small enough:
//
//   operators ahead   1   4   16   64   all
//   fetched ahead     one weight, the largest, 2, 4, 16 times that
//
// Of orders that take nearly the same, the one that needs least memory. They
// are made for links on which communication takes as long as computing, where
// it is predicted to take less: that hides it on slower links, too.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SCHEDULE_ENTRYSCHEDULER_H
#define DIVISI_SCHEDULE_ENTRYSCHEDULER_H

#include "divisi/Cost/OperationCost.h"
#include "divisi/Cost/ScheduleRecord.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// Orders `functions`, all of one entry, whose arenas may have `limits`. What
/// the entry takes in the order that it then has; nothing where it cannot be
/// ordered. `moved` says whether that is another than before. Without `ahead`,
/// several numbers of bytes that weights may be fetched ahead of their use are
/// tried; less than 0: the order stays.
std::optional<ScheduleRecord>
orderEntry(llvm::ArrayRef<mlir::func::FuncOp> functions,
           llvm::ArrayRef<int64_t> limits, OperationCost &cost, bool &moved,
           std::optional<int64_t> ahead = std::nullopt);

/// What the arena of each of an entry's functions needs in the order that it
/// has; nothing where an int64_t does not hold it.
std::optional<llvm::SmallVector<int64_t>>
arenasInOrder(llvm::ArrayRef<mlir::func::FuncOp> functions);

} // namespace divisi

#endif // DIVISI_SCHEDULE_ENTRYSCHEDULER_H
