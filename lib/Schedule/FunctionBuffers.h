//===- FunctionBuffers.h - Buffers of a function ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SCHEDULE_FUNCTIONBUFFERS_H
#define DIVISI_LIB_SCHEDULE_FUNCTIONBUFFERS_H

#include "divisi/Memory/BufferBlocks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

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

#endif // DIVISI_LIB_SCHEDULE_FUNCTIONBUFFERS_H
