//===- Batches.h - Micro-batches in one tensor ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro-batches lie behind each other in dim 0 of an input:
//
//   %0 = nn.slice %x [0, 4)    of %x, which has 8 rows, the first of two
//   %1 = nn.slice %x [4, 8)    the second
//
// Scalars, and inputs that are marked as shared, are the same for all.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_BATCHES_H
#define DIVISI_DIALECTS_NN_BATCHES_H

#include "dialects/NN/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace divisi::nn {

/// What operators are called that take batches out of inputs, or join results.
inline constexpr llvm::StringLiteral kBatchNode = "micro_batch";
/// Marks a body each iteration of which is one micro-batch (a unit attribute).
inline constexpr llvm::StringLiteral kMicroBatchesAttr = "nn.micro_batches";
/// Marks an argument of an entry that has no batch: all micro-batches read it,
/// and it is the same in every step (a unit attribute).
inline constexpr llvm::StringLiteral kSharedAttr = "nn.shared";
/// Whether argument `number` of `entry` has rows of the batch in dim 0: it is
/// no scalar, and is not marked as shared.
bool hasBatch(mlir::func::FuncOp entry, unsigned number);
/// The location of one that `builder` makes.
mlir::Location batchLocation(mlir::Builder &builder);

/// The type of `count` tensors of type `one`; of a scalar, which all batches
/// have in common, `one`.
mlir::RankedTensorType typeOfBatches(mlir::RankedTensorType one, int64_t count);
/// Batch `number` of the `count` in `whole`, which is no scalar.
SliceOp sliceBatch(mlir::OpBuilder &builder, mlir::Value whole, int64_t count,
                   int64_t number);

/// Which batch of how many a slice is.
struct BatchPart {
  int64_t number = 0; ///< From 0.
  int64_t count = 1;  ///< At least 1.
};
/// What sliceBatch() has made; nothing if it has not made `slice`.
std::optional<BatchPart> batchOf(SliceOp slice);

/// Whether `value` is a constant of zeros, none of them negative: what sums of
/// batches begin with.
bool isZeros(mlir::Value value);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_BATCHES_H
