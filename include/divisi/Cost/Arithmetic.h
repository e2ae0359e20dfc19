//===- Arithmetic.h - What computing takes, without memory ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of matrices go at a device's peak, and all other arithmetic at the
// rate of its vectors; and a product costs a start of its own. Which is which
// follows from the loops:
//
//   matmul    m, n, k           k is summed over, of two operands: a product
//   attention b, h, s, t, d, e  so are d and t: two products, of each b and h;
//                               t is exchanged, so between them come functions
//                               of each weight: of each b, h, s, t
//   add, exp, a sum             none: vectors
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_ARITHMETIC_H
#define DIVISI_COST_ARITHMETIC_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Layout/Loops.h"

namespace divisi {

/// Whether `nest` multiplies elements of two operands and sums the products.
bool isProduct(const LoopNest &nest);

/// Which part of the operations of `nest` is done outside of products: 0 to 1.
double vectorShare(const LoopNest &nest);

/// How many products the fullest device of `part` starts; 0 of other operators.
/// Of an attention half as many as it has heads: the next one's code is in the
/// nearest caches.
int64_t startedProducts(const LoopNest &nest, const Grid &grid,
                        const Split &split, const GridPart &part = {});

/// Seconds of so many operations, of which `share` are done outside of
/// products, at these rates.
double arithmeticSeconds(double flops, double share, double peak,
                         double vectorRate);

} // namespace divisi

#endif // DIVISI_COST_ARITHMETIC_H
