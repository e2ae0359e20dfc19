//===- EntryTasks.h - An entry as tasks and buffers -------------*- C++ -*-===//
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

#ifndef DIVISI_PASSES_SCHEDULE_ENTRYTASKS_H
#define DIVISI_PASSES_SCHEDULE_ENTRYTASKS_H

#include "divisi/Cost/OperationCost.h"
#include "divisi/Memory/BufferBlocks.h"
#include "divisi/Schedule/ListSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

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

/// Reads the functions of one entry, as programs in this order; their
/// operations can move. Nothing where one has no price, or where functions have
/// what they do together in different orders.
std::optional<EntryTasks>
readTasks(llvm::ArrayRef<mlir::func::FuncOp> functions, OperationCost &cost);

/// The buffers that a function will have once it is lowered.
class FunctionBuffers {
public:
  /// Reads `function`, one of its entry's, or all of it; nothing where a buffer
  /// has more bytes than an int64_t counts.
  static std::optional<FunctionBuffers> read(mlir::func::FuncOp function,
                                             bool isAll);

  /// Their blocks if the operations of the function stand in this order:
  /// those that plan-memory will find.
  std::vector<ArenaBlock> blocks(llvm::ArrayRef<mlir::Operation *> order,
                                 bool overlaps) const;

private:
  /// A new value that its writer may write where the global rests, if all who
  /// read the old one come before (passes/Lower/WriteGlobals.cpp).
  struct Update {
    size_t buffer;
    mlir::Operation *writer;
    llvm::SmallVector<mlir::Operation *> readers; ///< But the writer.
  };

  bool add(mlir::Operation &op);
  void addUpdates(mlir::func::FuncOp function);
  llvm::BitVector atRest(llvm::ArrayRef<mlir::Operation *> order) const;
  std::optional<size_t> make(mlir::Value value);
  void addUse(mlir::Value value, std::vector<size_t> &list) const;
  size_t queueOf(const std::string &name);

  size_t numInputs_ = 0;
  bool isAll_ = true;
  std::vector<int64_t> bytes_;                   ///< Per buffer.
  llvm::DenseMap<mlir::Value, size_t> bufferOf_; ///< Not of what rests.
  llvm::DenseMap<mlir::Operation *, std::vector<BufferStep>> steps_;
  llvm::StringMap<size_t> queues_;
  std::vector<Update> updates_;
};

} // namespace divisi

#endif // DIVISI_PASSES_SCHEDULE_ENTRYTASKS_H
