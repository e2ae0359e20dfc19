//===- Rules.h - Rules of gradients, by family ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_RULES_H
#define DIVISI_LIB_AUTODIFF_RULES_H

#include "GradientBuilder.h"

namespace divisi::autodiff {

/// A rule as a function of the operator.
template <typename OpT>
using Rule = llvm::LogicalResult (*)(OpT op, GradientBuilder &gradients);

/// The interface of an operator that has `rule`.
template <typename OpT, Rule<OpT> rule>
struct RuleModel : GradientInterface::ExternalModel<RuleModel<OpT, rule>, OpT> {
  /// It has one.
  bool hasGradient(mlir::Operation *) const { return true; }
  /// Calls the rule.
  llvm::LogicalResult addGradients(mlir::Operation *op,
                                   GradientBuilder &gradients) const {
    return rule(mlir::cast<OpT>(op), gradients);
  }
};

/// The interface of an operator through which no gradient goes.
template <typename OpT>
struct ZeroModel : GradientInterface::ExternalModel<ZeroModel<OpT>, OpT> {
  /// It has none.
  bool hasGradient(mlir::Operation *) const { return false; }
  /// Gives nothing.
  llvm::LogicalResult addGradients(mlir::Operation *, GradientBuilder &) const {
    return mlir::success();
  }
};

/// Lets `OpT` have `rule`.
template <typename OpT, Rule<OpT> rule>
void attach(mlir::MLIRContext &context) {
  OpT::template attachInterface<RuleModel<OpT, rule>>(context);
}

/// Lets no gradients go through any of `Ops`.
template <typename... Ops> void attachZero(mlir::MLIRContext &context) {
  (Ops::template attachInterface<ZeroModel<Ops>>(context), ...);
}

/// The rules of each family.
void attachUnaryRules(mlir::MLIRContext &context);
/// Elementwise operators of more operands.
void attachElementwiseRules(mlir::MLIRContext &context);
/// nn.matmul.
void attachContractionRules(mlir::MLIRContext &context);
/// Reductions, and running sums.
void attachReduceRules(mlir::MLIRContext &context);
/// Softmax and norms.
void attachNormalizeRules(mlir::MLIRContext &context);
/// What only moves elements.
void attachMovementRules(mlir::MLIRContext &context);
/// Convolutions and pools.
void attachWindowRules(mlir::MLIRContext &context);
/// What reads and writes where data says.
void attachIndexRules(mlir::MLIRContext &context);
/// Attention and rotary embeddings.
void attachAttentionRules(mlir::MLIRContext &context);

} // namespace divisi::autodiff

#endif // DIVISI_LIB_AUTODIFF_RULES_H
