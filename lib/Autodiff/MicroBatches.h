//===- MicroBatches.h - A batch in several parts ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A step may take several batches of the model's shapes, one after the other,
// so that it holds what is kept for gradients of one of them alone. Its inputs
// have all batches behind each other. The step is made for the first one,
//
//   %x = nn.slice %all [0, 8)
//   …                            whatever depends on %x, and states of it
//   %loss, %dw                   parts of sums: divided by what all batches
//                                have of labels that count
//
// and repeat() makes the other ones of that. A few are written out, so that
// their order is free and their gradients are one sum, which travels once. Of
// more, the program would grow with their number: they are a loop, of which one
// iteration makes a few. Those that are planned as one are a loop, too, which
// the stage Plan takes apart.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_MICROBATCHES_H
#define DIVISI_LIB_AUTODIFF_MICROBATCHES_H

#include "StepBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace divisi::autodiff {

/// See the file's head.
class MicroBatches {
public:
  /// Of `entry`, which has been made for one batch, `count` of them, at least
  /// one: its arguments that have a batch (nn::hasBatch) have all from now on.
  /// `isPipeline`: the planner takes one for all, so that each is one iteration
  /// of a loop, however many there are.
  MicroBatches(mlir::func::FuncOp entry, int64_t count, bool isPipeline);

  /// How many there are.
  int64_t count() const { return count_; }
  /// The first of `whole`, made where `builder` stands; itself if it is the
  /// only one.
  mlir::Value first(mlir::OpBuilder &builder, mlir::Value whole);
  /// The type of all, where one has `part`.
  mlir::RankedTensorType wholeOf(mlir::RankedTensorType part) const;

  /// Makes `sums` of all batches of those of the first, where `b` stands: those
  /// of bf16 and f16 in f32, and rounded once.
  /// States that the first updates are updated by one after the other.
  /// Whatever else used what depends on a batch is gone by now.
  void repeat(StepBuilder &b, llvm::MutableArrayRef<mlir::Value> sums);

private:
  /// What one batch leaves to the next.
  struct Carried {
    llvm::SmallVector<mlir::Value> sums, states;
  };
  /// Makes the part of a batch that a slice of the first is.
  using Take = llvm::function_ref<mlir::Value(nn::SliceOp first)>;

  void dropUnused(llvm::ArrayRef<mlir::Value> sums);
  void findStates();
  void findOperators(llvm::ArrayRef<mlir::Value> sums);
  Carried addBatch(mlir::OpBuilder &builder, const Carried &before,
                   mlir::IRMapping mapping, Take take);
  Carried writeOut(StepBuilder &b);
  Carried makeLoop(StepBuilder &b);
  llvm::SmallVector<mlir::Value> findOutside();
  llvm::SmallVector<mlir::Value> makeRows(StepBuilder &b);
  void fillBody(mlir::func::FuncOp body, llvm::ArrayRef<mlir::Value> outside,
                int64_t written);

  mlir::func::FuncOp entry_;
  int64_t count_;
  bool isPipeline_;
  llvm::SmallVector<nn::SliceOp> firsts_;
  /// What depends on a batch, in order, but slices and updates; sums of it.
  llvm::SmallVector<mlir::Operation *> operators_;
  llvm::SmallVector<mlir::Value> parts_;
  llvm::SmallVector<nn::UpdateOp> updates_;
  llvm::SmallVector<nn::ReadOp> reads_; ///< Of what updates_ update, alike.
};

} // namespace divisi::autodiff

#endif // DIVISI_LIB_AUTODIFF_MICROBATCHES_H
