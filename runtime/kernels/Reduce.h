//===- Reduce.h - What a reduction walks ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_REDUCE_H
#define DIVISI_RUNTIME_KERNELS_REDUCE_H

#include "divisi/runtime/kernels/Nest.h"

namespace divisi::rt {

/// A run along reduced elements is summed in so many chains, by turns, of which
/// each is added to the first.
inline constexpr int64_t reduceChains = 8;

/// The results of an `nn.reduce`, and for each what is reduced to it.
struct ReducePlan {
  Nest<2> kept;    ///< Result, operand.
  Nest<1> reduced; ///< Operand.
};

/// Reads the attribute 'axes' and the boxes of `site`, of one operand and one
/// result; false and a message if they do not fit together.
bool makeReducePlan(const CallSite &site, const Checks &checks,
                    ReducePlan &plan);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_REDUCE_H
