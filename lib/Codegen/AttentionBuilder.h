//===- AttentionBuilder.h - What all kernels of attention do ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ATTENTIONBUILDER_H
#define DIVISI_LIB_CODEGEN_ATTENTIONBUILDER_H

#include "divisi/runtime/code/GridAttention.h"
#include "lib/Codegen/RowPairs.h"
#include "lib/Codegen/ScoreBuilder.h"

namespace divisi {

/// What is the same with tensor cores (EmitTensorAttention.cpp) and without
/// (EmitAttention.cpp): which queries a warp has, and what they attend.
class AttentionBuilder : protected ScoreBuilder {
public:
  /// For a kernel of `attention` with these arguments; `shared` is its memory
  /// of a block. `attention` must outlive it.
  AttentionBuilder(mlir::ImplicitLocOpBuilder &builder,
                   const rt::GridAttention &attention,
                   mlir::ValueRange arguments, mlir::Value shared);

protected:
  /// Keys that come by at a time.
  static constexpr int64_t tile = rt::GridAttention::tile;

  Value extent(rt::GridAttention::Number which) { return numbers_[which]; }
  /// exp(score - top), 0 of minus infinity.
  Value weight(Value score, Value top);
  /// What sums of weighted values have to be multiplied with.
  Value finalScale(Value top, Value sum);
  /// Where there are no values, writes the logarithm of a query's sum.
  void storeLse(Value query, Value top, Value sum);
  /// Lets `body` do each part that the block has: to which enterHead() has
  /// gone, with keys from `begin` up to `end` that its queries attend.
  void forEachPart(llvm::function_ref<void(Value begin, Value end)> body);
  MatrixRows queryRows() {
    return {q_, qBase_, qStrides_[2], extent(rt::GridAttention::Depth)};
  }
  MatrixRows keyRows() {
    return {k_, kBase_, kStrides_[2], extent(rt::GridAttention::Depth)};
  }
  MatrixRows valueRows() {
    return {v_, vBase_, vStrides_[2], extent(rt::GridAttention::Features)};
  }

  const rt::GridAttention &attention_;
  Value to_, q_, k_, v_; ///< No values where the result is the logarithm.
  mlir::ValueRange numbers_, toStrides_, qStrides_, kStrides_, vStrides_;
  // Of the queries that the block has at present.
  Value blockQuery_, firstQuery_, toBase_, qBase_, kBase_, vBase_;

private:
  Value inBounds(Value key);
  void enterHead(Value work);
};

/// A kernel that multiplies tiles on tensor cores (EmitAttention.h).
void emitTensorAttention(mlir::ModuleOp module,
                         const rt::GridAttention &attention);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ATTENTIONBUILDER_H
