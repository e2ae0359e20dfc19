//===- WrittenAttention.h - Attention as products and sums ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// nn.attention_lse and nn.attention_gradient in operators that have gradients
// and kernels everywhere, with the products of all queries and keys as tensors,
// and the groups of query heads that share keys as a dim of their own, g:
//
//   z = scale * q.k        c = softcap(z)      lse = log of sum of exp(c +
//   mask) p = exp(c + mask - lse)                    dv = p.dy dp = dy.v dc = p
//   * (dp - delta), which is dmask dz = scale * dc * (1 - (c/softcap)^2) dq =
//   dz.k        dk = dz.q
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_WRITTENATTENTION_H
#define DIVISI_LIB_AUTODIFF_WRITTENATTENTION_H

#include "GradientBuilder.h"
#include "dialects/NN/AttentionParts.h"

namespace divisi::autodiff {

/// See the file's head. What several values need is made once.
class WrittenAttention {
public:
  /// Of an attention of these parts.
  WrittenAttention(const nn::AttentionParts &parts, GradientBuilder &b);

  /// The logarithm of what weights are divided by, [b, (h g), s]; `nan` says
  /// what a query has that attends nothing.
  mlir::Value lse(bool nan);
  /// Sets what gradients are made of. Without `lse`, weights are a softmax;
  /// `nan` says what a query has that attends nothing.
  void setGradient(mlir::Value dy, mlir::Value lse, mlir::Value delta,
                   bool nan = false);
  /// The gradient by 'q', 'k' or 'v', or the mask, 'm': of the shape of that,
  /// a mask's before it is summed over what it is repeated along.
  mlir::Value gradient(char of);

private:
  std::string grouped(size_t tensor) const;
  mlir::Value group(mlir::Value x, size_t tensor);
  mlir::Value ungroup(mlir::Value x, size_t tensor);
  mlir::Value groupRows(mlir::Value rows);
  mlir::Value window();
  mlir::Value scores();
  bool hidesRows() const;
  mlir::Value softmax();
  mlir::Value weights();
  mlir::Value byScores();

  nn::AttentionParts parts_;
  GradientBuilder &b_;
  nn::AttentionLabels labels_;
  int64_t heads_, groups_, queries_, keys_;
  mlir::Value query_, tanh_, scores_, weights_, byScores_;
  mlir::Value dy_, lse_, delta_;
  bool nan_ = false;
};

/// Adds the gradients of an operator to `b` by those of its written form, which
/// `write` makes of the operands.
llvm::LogicalResult deriveWritten(
    mlir::Operation *op, GradientBuilder &b,
    llvm::function_ref<mlir::Value(mlir::ValueRange, GradientBuilder &)> write);

} // namespace divisi::autodiff

#endif // DIVISI_LIB_AUTODIFF_WRITTENATTENTION_H
