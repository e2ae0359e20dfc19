//===- TypeChoice.h - Which operators may be narrow -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that an operator in f32 makes is there in f32 at no cost, so that a
// user in f32 takes it without rounding; a user in the narrow type has it cast.
// What is left to decide is the type of operators that could have either. They
// stay f32 where that saves rounding and moves no more data:
//
//   scores · scale + mask -> softmax     serves f32 alone, and is no branch
//   (x - mean) · rsqrt(variance)         follows from f32
//   gelu(sum + bias)                     finishes a sum, which is in f32
//   frequencies · positions -> cos       comes of integers and constants
//
// A sum of products with weights is cast when it is finished, whoever reads it:
// it may have to be moved, and what is narrow is cheaper to move. A sum of
// products of activations, as scores are, stays with its only reader.
//
// Two things stay f32 though they may move more data. A residual stream joins
// activations of one size, layer after layer, and would gather a rounding of
// each; what joins it is cast as other sums are. And the products that come
// first, which FirstProducts.h explains.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PRECISION_TYPECHOICE_H
#define DIVISI_LIB_PRECISION_TYPECHOICE_H

#include "Origins.h"

#include "dialects/NN/Rounding.h"

#include "llvm/ADT/DenseSet.h"

namespace divisi {

/// What `op` says of narrow floats. Operations of other dialects stay wide.
nn::Rounding roundingOf(mlir::Operation *op);

/// Whether `type` is a tensor of f32.
bool isF32(mlir::Type type);

/// The element types of the operators of one function.
class TypeChoice {
public:
  /// Of `function`, in which the operators `named` stay f32, and the products
  /// that come first if it `keepsFirst`.
  TypeChoice(mlir::func::FuncOp function, const Origins &origins,
             const llvm::DenseSet<mlir::Operation *> &named, bool keepsFirst);

  /// Whether the f32 operands of `op`, and its result unless it sums, become
  /// narrow.
  bool isNarrow(mlir::Operation *op) const { return !wide_.contains(op); }
  /// Whether `value` has been computed in f32, because it has to be.
  bool isExact(mlir::Value value) const;
  /// Whether `op`, which is not narrow, finishes a sum before it is cast.
  bool isEndOfSum(mlir::Operation *op) const {
    return roundingOf(op) == nn::Rounding::RoundsOnce && !exact_.contains(op);
  }
  /// Whether `value`, which is there in f32, is the sum of a product with
  /// weights, finished or not: an activation, and narrow for all but those who
  /// finish it, so that it is moved as such.
  bool isActivation(mlir::Value value) const {
    return activations_.contains(value);
  }
  /// Whether `value` is there in f32 without a cast.
  bool isWide(mlir::Value value) const;
  /// Whether `op` is a product that stays f32 because it comes first.
  bool isFirst(mlir::Operation *op) const { return first_.contains(op); }
  /// Whether `op` adds activations of one size: it goes on with a stream.
  bool isJoin(mlir::Operation *op) const;

private:
  bool update(mlir::Operation *op);
  bool mustBeWide(mlir::Operation *op) const;
  bool roundsInWide(mlir::Operation *op) const;
  bool sumsWithWeights(mlir::Value value) const;
  bool isBetween(mlir::Operation *op) const;
  bool finishesSum(mlir::Operation *op) const;
  bool finishesActivation(mlir::Operation *op) const;
  bool movesInWide(mlir::Operation *op) const;
  bool sumsInWide(mlir::Operation *op) const;
  bool followsFromExact(mlir::Operation *op) const;
  bool wantsWide(mlir::OpOperand &use) const;
  bool allWantWide(mlir::Value value) const;
  bool anyWantsWide(mlir::Value value) const;

  const Origins &origins_;
  const llvm::DenseSet<mlir::Operation *> &named_;
  llvm::DenseSet<mlir::Operation *> first_; ///< isFirst
  llvm::DenseSet<mlir::Operation *> wide_;  ///< Stay f32.
  llvm::DenseSet<mlir::Operation *> exact_; ///< isExact of the result.
  llvm::DenseSet<mlir::Value> activations_; ///< isActivation
};

} // namespace divisi

#endif // DIVISI_LIB_PRECISION_TYPECHOICE_H
