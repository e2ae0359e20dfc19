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
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/ThreadExchange.h"

namespace divisi {

/// What is the same with tensor cores (EmitTensorAttention.cpp) and without
/// (EmitAttention.cpp): which queries a warp has, what they attend, and what
/// becomes of a score.
class AttentionBuilder : protected ThreadBuilder {
public:
  /// For a kernel of `attention` with these arguments; `shared` is its memory
  /// of a block. `attention` must outlive it.
  AttentionBuilder(mlir::ImplicitLocOpBuilder &builder,
                   const rt::GridAttention &attention,
                   mlir::ValueRange arguments, mlir::Value shared);

  /// What it computes with: f32, or f64 where elements are.
  static mlir::Type realOf(mlir::OpBuilder &builder,
                           const rt::GridAttention &attention) {
    return attention.type == rt::DType::F64 ? mlir::Type(builder.getF64Type())
                                            : mlir::Type(builder.getF32Type());
  }

protected:
  using Value = mlir::Value;

  /// Keys that come by at a time.
  static constexpr int64_t tile = rt::GridAttention::tile;

  Value extent(rt::GridAttention::Number which) { return numbers_[which]; }
  Value constant(double value);
  /// The score of a key that is not attended, and the maximum of none.
  Value never();
  Value call(Function function, mlir::ValueRange operands);
  Value isMinusInfinity(Value x);
  Value smaller(Value x, Value y);
  Value both(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  ThreadExchange exchange();
  /// An element, as it is computed with.
  Value loadFrom(Value pointer, Value index);
  Value hasQuery(Value query) {
    return isLess(query, extent(rt::GridAttention::Queries));
  }
  /// With what softmax takes of the product of a query and a key before `end`;
  /// minus infinity where the query does not attend.
  Value maskedScore(Value query, Value key, Value end, Value product);
  /// exp(score - top), 0 of minus infinity.
  Value weight(Value score, Value top);
  /// What sums of weighted values have to be multiplied with.
  Value finalScale(Value top, Value sum);
  /// Lets `body` do each part that the block has: to which enterHead() has
  /// gone, with keys from `begin` up to `end` that its queries attend.
  void forEachPart(llvm::function_ref<void(Value begin, Value end)> body);

  const rt::GridAttention &attention_;
  const rt::AttentionPlan &plan_;
  mlir::Type real_; ///< What is computed with.
  Value to_, q_, k_, v_, mask_, shared_;
  mlir::ValueRange numbers_, toStrides_, qStrides_, kStrides_, vStrides_,
      maskStrides_;
  Value lane_, warp_, warps_;
  // Of the queries that the block has at present.
  Value blockQuery_, firstQuery_, toBase_, qBase_, kBase_, vBase_, maskBase_;

private:
  Value inBounds(Value key);
  void enterHead(Value work);
  Value addMask(Value query, Value key, Value score);
};

/// A kernel that multiplies tiles on tensor cores (EmitAttention.h).
void emitTensorAttention(mlir::ModuleOp module,
                         const rt::GridAttention &attention);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ATTENTIONBUILDER_H
