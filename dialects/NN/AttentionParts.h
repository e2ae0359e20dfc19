//===- AttentionParts.h - What operators of attention share -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention and the operators of its way back have queries, keys, values and
// attributes in common: how these are checked, and which loops they have.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_ATTENTIONPARTS_H
#define DIVISI_DIALECTS_NN_ATTENTIONPARTS_H

#include "dialects/NN/Labels.h"

namespace divisi::nn {

/// What an operator says of its attention.
struct AttentionParts {
  mlir::Value q, k, v, mask;   ///< `v` and `mask` may be null.
  double scale, softcap;       ///< The attributes of that name.
  int64_t left, right, offset; ///< The same.
  llvm::StringRef text;        ///< Of the labels.

  /// Those of `op`, an operator or its adaptor; null as `values` if it has
  /// none.
  template <typename OpT>
  static AttentionParts of(OpT &&op, mlir::Value values) {
    return {op.getQ(),      op.getK(),       values,       op.getMask(),
            op.getScale(),  op.getSoftcap(), op.getLeft(), op.getRight(),
            op.getOffset(), op.getLabels()};
  }

  /// The type of the attention's result, or an error (C1 to C7 of
  /// nn.attention); without values as if they were the keys.
  mlir::FailureOr<mlir::RankedTensorType> inferType(EmitError emitError) const;
  /// The type of numbers of each query, [b, (h g), s]; for parts that are
  /// right.
  mlir::RankedTensorType rowsType() const;
  /// How many keys queries attend on average, by their positions alone.
  double attendedKeys() const;
};

/// The loops of an operator of attention. Those of queries, keys and groups are
/// parallel, those of depth and features whole, until the operator says else.
struct AttentionNest {
  LoopNest nest;                      ///< Without operands and results.
  LoopId b, h, s, t, d, e;            ///< Its loops; no `e` without values.
  llvm::SmallVector<LoopId, 2> heads; ///< `h`, and that of groups if any.

  /// Of parts that are right.
  explicit AttentionNest(const AttentionParts &parts);
  /// The dims of `tensor`, which is like q, k, v or y (0 to 3).
  TensorMap map(size_t like, mlir::Value tensor) const;
  /// Those of the mask, which broadcasts.
  TensorMap mapMask(mlir::Value mask) const;
  /// Those of a number for each query.
  TensorMap mapRows(mlir::Value rows) const;
  /// Lets each pair of a query and a key that it attends take `perPair`
  /// operations.
  void setFlops(double perPair);

private:
  AttentionParts parts_;
  AttentionLabels labels_;
};

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_ATTENTIONPARTS_H
