//===- ForwardParts.h - Parts of a forward pass -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_FORWARDPARTS_H
#define DIVISI_LIB_PLAN_FORWARDPARTS_H

#include <cstdint>
#include <vector>

namespace divisi::plan {

/// What a forward pass makes.
struct MadeValue {
  int64_t made = 0;         ///< The time at which it is.
  int64_t last = 0;         ///< That of its last use in the forward pass.
  int64_t bytes = 0;        ///< That it takes.
  bool mayRunAgain = false; ///< Else it is kept in any case.
  /// What the operators of the backward pass that use it take beside such
  /// values, as the scores of attention; the most of them.
  int64_t beside = 0;
};

/// Per value, the part of the forward pass that makes it; `values` stand in the
/// order in which they are made. What a part makes is made again when its turn
/// comes in the backward pass, but for what later parts use, too, which is
/// kept. So
///
///   kept by all parts + the most of (made again by a part + taken beside it)
///
/// is how much a step holds, and parts are chosen for the least of it, within
/// 1.2 times. They end where little lives, as between the blocks of a model; of
/// many blocks several are a part.
std::vector<unsigned> forwardParts(const std::vector<MadeValue> &values);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_FORWARDPARTS_H
