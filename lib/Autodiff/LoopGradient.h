//===- LoopGradient.h - Gradients of loops ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop is derived by a second one, which runs its iterations backwards:
//
//   %h = nn.loop @step(%n, %h0, %x) max 9
//   becomes
//   %h, %hs = nn.loop @step_kept(%n, %h0, %zeros, %x) max 9
//   %dh0, %dx = nn.loop @step_gradient(%n, %dh, %zeros, %hs, %x) max 9
//
// The first keeps what is carried into each iteration, where the gradient needs
// it; the second makes the iteration's other values again. A loop that runs
// once at most, as a branch does, needs nothing kept. What is the same in all
// iterations has the sum of its gradients; of rows that an iteration gathers,
// the rows alone are added to.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_AUTODIFF_LOOPGRADIENT_H
#define DIVISI_LIB_AUTODIFF_LOOPGRADIENT_H

#include "dialects/NN/Bodies.h"

namespace divisi::autodiff {

/// The gradients by the values of `loop`, made where `builder` stands; null
/// where there is none. `gradients` are those by its results, null for 0, and
/// `wanted` says by which values there shall be some. The body has the loop for
/// its only user and reads no global. `loop` may be replaced by another one,
/// which it then is. Reports an error of an operator that has no gradient.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
deriveLoop(mlir::OpBuilder &builder, nn::LoopOp &loop,
           llvm::ArrayRef<mlir::Value> gradients, llvm::ArrayRef<bool> wanted);

} // namespace divisi::autodiff

#endif // DIVISI_LIB_AUTODIFF_LOOPGRADIENT_H
