//===- Unflatten.h - Every needed factor a dim of its own -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exported models flatten: tokens [B·S], a fused projection of 3·heads·64. An
// operator can split a dim, or the major factor of a dim, but never a minor
// one alone, so heads inside such a dim are out of reach. unflatten makes every
// factor that some operator needs a separate dim:
//
//   %0 = reshape %x : [8, 16, 64] → [128, 64]
//   %1 = matmul %0, %w "mk,kn->mn" : [128, 192]
//   %2 = reshape %1 : [8, 16, 192]
//   %3 = slice %2 [.., 0:64]; %4 = reshape %3 : [8, 16, 8, 8]
//
// becomes, with the bytes of %w read as [64, 3, 8, 8],
//
//   %1 = matmul %x, %w "mak,knbc->manbc" : [8, 16, 3, 8, 8]
//   %3 = slice %1 [.., 0:1, .., ..]; %4 = reshape %3 : [8, 16, 8, 8]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_UNFLATTEN_UNFLATTEN_H
#define DIVISI_UNFLATTEN_UNFLATTEN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"

namespace divisi {

/// Rewrites all functions of `module`. Signatures and numbers stay; globals get
/// the shape that their readers want. What is a box, or has been annotated by
/// another dialect, or has no nn.UnflattenInterface, keeps its form, and no
/// value gets more dims than kernels take. Returns how many operators it has rewritten, or an error if a function
/// is no plain list of operators.
llvm::FailureOr<int64_t> unflatten(mlir::ModuleOp module);

} // namespace divisi

#endif // DIVISI_UNFLATTEN_UNFLATTEN_H
