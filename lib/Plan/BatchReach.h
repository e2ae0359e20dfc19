//===- BatchReach.h - Which loops the batch reaches -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_BATCHREACH_H
#define DIVISI_LIB_PLAN_BATCHREACH_H

#include "divisi/Plan/Dataflow.h"

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

namespace divisi::plan {

/// Follows the batch from arguments through a program. Lookups only, never
/// iterated.
class BatchReach {
public:
  /// Dimension `batchDim` of arguments is the batch.
  explicit BatchReach(int64_t batchDim) : batchDim_(batchDim) {}

  /// `argument` is one of an entry. What is shared has no batch.
  void begin(mlir::BlockArgument argument);
  /// `value` is the same tensor as `source`.
  void follow(mlir::Value value, mlir::Value source);
  /// Sets Site::batch: the loops behind what is reached of the operands.
  void enter(Site &site, mlir::ValueRange operands) const;
  /// `results` are those of `site`.
  void leave(const Site &site, mlir::ValueRange results);

private:
  /// Of a dimension, how many of its major iterations the batch reaches: of a
  /// flattened [B·S] the B.
  using Reach = llvm::SmallVector<int64_t, 4>;

  int64_t batchDim_;
  llvm::DenseMap<mlir::Value, Reach> reach_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_BATCHREACH_H
