//===- ScoreBuilder.h - Scores of queries and keys --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_SCOREBUILDER_H
#define DIVISI_LIB_CODEGEN_SCOREBUILDER_H

#include "divisi/runtime/kernels/Attention.h"
#include "lib/Codegen/ElementFunctions.h"
#include "lib/Codegen/ThreadExchange.h"

namespace divisi {

/// What all kernels of attention and of its gradients do alike: what becomes of
/// the product of a query and a key.
class ScoreBuilder : protected ThreadBuilder {
public:
  /// What kernels of such elements compute with: f32, or f64 of f64.
  static mlir::Type realOf(mlir::OpBuilder &builder, rt::DType type) {
    return type == rt::DType::F64 ? mlir::Type(builder.getF64Type())
                                  : mlir::Type(builder.getF32Type());
  }

protected:
  using Value = mlir::Value;

  /// Where the mask lies, and which keys a query attends. The query `s` attends
  /// from key `s + first` up to key `s + end`.
  struct Bounds {
    Value queries;        ///< How many there are.
    Value first, end;     ///< Of the keys, see above.
    Value mask, maskBase; ///< Null without one; of the head, in elements.
    mlir::ValueRange maskStrides; ///< Of b, h, s and t.
  };

  /// Of tensors of `type`; `shared` is the memory of a block. `plan` must
  /// outlive it.
  ScoreBuilder(mlir::ImplicitLocOpBuilder &builder,
               const rt::AttentionPlan &plan, rt::DType type, Value shared);

  Value constant(double value);
  /// The score of a key that is not attended, and the maximum of none.
  Value never();
  Value call(Function function, mlir::ValueRange operands);
  Value isMinusInfinity(Value x);
  Value smaller(Value x, Value y);
  Value larger(Value x, Value y);
  Value subtract(Value x, Value y);
  Value both(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  ThreadExchange exchange();
  /// An element of `type`, as it is computed with.
  Value loadFrom(Value pointer, Value index, rt::DType type);
  Value hasQuery(Value query) { return isLess(query, bounds_.queries); }
  /// A product, scaled and capped.
  Value cappedScore(Value product);
  /// That with the mask; minus infinity where the query does not attend the
  /// key, or there is none before `end`.
  Value maskedScore(Value query, Value key, Value end, Value capped);

  const rt::AttentionPlan &plan_;
  const rt::DType type_;
  const mlir::Type real_; ///< What is computed with.
  const Value shared_, lane_, warp_, warps_;
  Bounds bounds_; ///< Set by who derives from it.

private:
  Value addMask(Value query, Value key, Value score);
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_SCOREBUILDER_H
