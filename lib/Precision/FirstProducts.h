//===- FirstProducts.h - The products that inputs meet first ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is rounded early goes through all that follows, each layer of which may
// enlarge it: so the products nearest to the inputs stay f32, with what they
// take and make. How many is bounded by what they hold of the weights, whose
// size the others halve. Of a transformer these are the first eighth of its
// layers. A convolutional network widens, so that more of its products come
// first, and with them most of its elements; there rounding does the most harm
// too, where norms have taken away what all samples share.
//
//   %0 = conv %x, %stem       864 weights   stays f32
//   %1 = conv %0, %w        9216 weights   stays f32
//   %2 = conv %1, %v       73728 weights   is beyond an eighth of all
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PRECISION_FIRSTPRODUCTS_H
#define DIVISI_LIB_PRECISION_FIRSTPRODUCTS_H

#include "Origins.h"

#include "llvm/ADT/DenseSet.h"

namespace divisi {

/// Of all weights in products of a function, the part that those which stay f32
/// may hold is one over this.
inline constexpr int64_t kFirstProductsPart = 8;

/// The products of activations in `function` that stay f32 because they come
/// first: in the order of how many products are before them, up to the first
/// whose weights are too many. A product without weights belongs to those that
/// it follows. Those in `named` stay f32 anyway and count for nothing.
llvm::DenseSet<mlir::Operation *>
findFirstProducts(mlir::func::FuncOp function, const Origins &origins,
                  const llvm::DenseSet<mlir::Operation *> &named);

} // namespace divisi

#endif // DIVISI_LIB_PRECISION_FIRSTPRODUCTS_H
