//===- AttentionGradientBuilder.h - Gradients of attention ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ATTENTIONGRADIENTBUILDER_H
#define DIVISI_LIB_CODEGEN_ATTENTIONGRADIENTBUILDER_H

#include "divisi/runtime/code/GridAttentionGradient.h"
#include "lib/Codegen/RowPairs.h"
#include "lib/Codegen/ScoreBuilder.h"

namespace divisi {

/// What is the same with tensor cores (EmitTensorGradient.cpp) and without
/// (EmitAttentionGradient.cpp): which rows a warp has, which rows come by, and
/// what a pair of them weighs.
class AttentionGradientBuilder : protected ScoreBuilder {
public:
  /// For a kernel of `gradient` with these arguments; `shared` is its memory of
  /// a block. `gradient` must outlive it.
  AttentionGradientBuilder(mlir::ImplicitLocOpBuilder &builder,
                           const rt::GridAttentionGradient &gradient,
                           mlir::ValueRange arguments, Value shared);

protected:
  using Gradient = rt::GridAttentionGradient;

  /// What is known of a query beside its row.
  struct QueryNumbers {
    Value lse, delta; ///< No delta for a gradient by values.
  };

  Value extent(Gradient::Number which) { return numbers_[which]; }
  /// How many rows of a head the result has.
  Value ownRows() {
    return extent(gradient_.isOfQueries() ? Gradient::Queries : Gradient::Keys);
  }
  /// The rows of an operand: of the head that the block is at.
  MatrixRows matrix(size_t kind);
  // Those that are multiplied for a score, those for the gradient of a weight,
  // of which a gradient by values needs none, and those that are weighted.
  MatrixRows ownFactors() {
    return matrix(isOfQueries() ? rt::Query : rt::Key);
  }
  MatrixRows factors() { return matrix(isOfQueries() ? rt::Key : rt::Query); }
  MatrixRows ownSlopes() {
    return matrix(isOfQueries() ? size_t(rt::Gradient) : size_t(rt::Value));
  }
  MatrixRows slopes() {
    return matrix(isOfQueries() ? size_t(rt::Value) : size_t(rt::Gradient));
  }
  MatrixRows weighted() {
    return gradient_.isOfValues() ? matrix(rt::Gradient) : factors();
  }
  QueryNumbers numbersOf(Value query);
  /// What a pair weighs, by its products; those of slopes are not looked at for
  /// a gradient by values.
  Value weight(Value own, Value coming, Value product, Value slope,
               const QueryNumbers &numbers);
  /// Where the result has an own row, in elements.
  Value resultRow(Value own) {
    return add(resultBase_, mul(own, resultStrides_[2]));
  }
  bool isOfQueries() const { return gradient_.isOfQueries(); }

  /// Lets `begin` do what each part of the block begins with, `next` the rows
  /// from `first` up to `end` that come by, with the sums so far, and `finish`
  /// what is left. `sums` are the first ones.
  void forEachPart(
      llvm::function_ref<void()> begin, mlir::ValueRange sums,
      llvm::function_ref<Values(Value first, Value end, mlir::ValueRange sums)>
          next,
      llvm::function_ref<void(mlir::ValueRange sums)> finish);

  const rt::GridAttentionGradient &gradient_;
  Value to_;
  mlir::ValueRange numbers_, resultStrides_;
  Value firstOwn_; ///< Of the warp's rows.
  Value hasHeads_; ///< Whether a query of this rank has a part in them.

private:
  void enterPart(Value work);
  void enterHead(Value head);
  Value headBase(size_t kind, Value head);

  std::array<Value, rt::AttentionPlan::operandKinds> pointers_, bases_;
  std::array<mlir::ValueRange, rt::AttentionPlan::operandKinds> strides_;
  // Of the part that the block has at present: what it is of, the heads of
  // queries, and the rows that come by.
  Value batch_, blockOwn_, resultBase_, headBegin_, headEnd_, begin_, end_;
};

/// The kernel that multiplies tiles on tensor cores (EmitAttention.h).
void emitTensorGradient(mlir::ModuleOp module,
                        const rt::GridAttentionGradient &gradient);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ATTENTIONGRADIENTBUILDER_H
