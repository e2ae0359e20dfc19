//===- ThroughDims.h - Dims that go through an operator ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REWRITE_THROUGHDIMS_H
#define DIVISI_LIB_REWRITE_THROUGHDIMS_H

#include "divisi/Layout/Loops.h"
#include "divisi/Rewrite/Symbolic.h"

namespace divisi::rewrite {

/// Which dims go through an operator with this nest, as it says. What it does
/// at a place may still depend on which place it is.
ThroughDims throughDims(const LoopNest &nest);

/// Whether all dims of all operands go through, those along their last ones,
/// but for such of extent 1 that are repeated.
bool isElementwise(const LoopNest &nest, const ThroughDims &through);

/// Whether an operator computes the same along a dim of its result wherever
/// elements lie there: tried on random operands, of which all that have the dim
/// are turned around. False as well where it can't be tried.
bool isSameAtAllPlaces(const Call &call, const ThroughDims &through,
                       const std::vector<TensorForm> &operands, size_t dim);

/// Completes `made` by what its operator, a call by number of that side, says
/// at all samples. No dim goes through one that says so here and not there, or,
/// if it `tries`, is not the same at all places.
void addThrough(const std::vector<Instance> &samples, bool isSource,
                size_t number, bool tries, SymbolicCall &made);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_REWRITE_THROUGHDIMS_H
