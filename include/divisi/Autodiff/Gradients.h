//===- Gradients.h - Gradients of nn, in nn ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Reverse mode: from a value of a function back to those that it was made of,
//
//   %h = nn.matmul %x, %w {labels = "bi,io->bo"}      what is there
//   %y = nn.relu %h
//   %0 = nn.compare %h, %zero {predicate = "gt"}      what is added, of %g,
//   %dh = nn.select %0, %g, %zero                     the gradient by %y
//   %dw = nn.matmul %x, %dh {labels = "bi,bo->io"}
//
// Gradients are ordinary operators behind those that they belong to, so that
// what is kept for them is visible: here %h and %x. By which operands of one
// operator there are gradients, each in operators of its own, so that they can
// be scheduled apart, is decided by what is asked for: there is nothing for
// values of which nothing wanted is made.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_AUTODIFF_GRADIENTS_H
#define DIVISI_AUTODIFF_GRADIENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Value.h"

namespace divisi {

/// Lets operators of nn have gradients, in contexts that `registry` is for.
void registerGradients(mlir::DialectRegistry &registry);

/// What is known of the gradients of a kind of operator.
enum class GradientRule : uint8_t {
  Known,   ///< There is a rule.
  Zero,    ///< Results do not change smoothly; no gradient goes through.
  Missing, ///< There is no rule yet.
};

/// Of the operators of that name, in a context of registerGradients.
GradientRule gradientRuleOf(mlir::OperationName name);

/// Makes, where `builder` stands, the gradients by `inputs`, each a float
/// value, of the sum of each of `outputs` times its seed, which has its type.
/// One of them is null if no output depends smoothly on that input. All values
/// are of one block, and `builder` stands behind the outputs. A loop that is
/// derived has its body for itself, which reads no globals (the pass
/// isolate-bodies), and may be replaced by one that keeps more: an output is no
/// result of a loop. Reports an error at an operator on the way that has no
/// rule.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
makeGradients(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> outputs,
              llvm::ArrayRef<mlir::Value> seeds,
              llvm::ArrayRef<mlir::Value> inputs);

/// Writes nn.attention_lse and nn.attention_gradient as products, sums and
/// functions of single elements: those of heads with more than `widest`
/// elements in a row, for devices that have no kernel for them. Gradients of
/// one attention each have products of their own, which CSE joins. Returns how
/// many were written.
int64_t writeAttentionGradients(mlir::ModuleOp module, int64_t widest = 0);

} // namespace divisi

#endif // DIVISI_AUTODIFF_GRADIENTS_H
