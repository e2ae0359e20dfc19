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
  int64_t made = 0;       ///< The time at which it is.
  int64_t last = 0;       ///< That of its last use in the forward pass.
  int64_t bytes = 0;      ///< That it takes.
  bool isOfBatch = false; ///< Whether the batch reaches it.
};

/// Per value, the part of the forward pass that makes it; `values` stand in the
/// order in which they are made. A part ends where few values of the batch
/// live, as between the blocks of a model, and no part is much smaller than a
/// pass of n values that is cut into sqrt(n) parts.
std::vector<unsigned> forwardParts(const std::vector<MadeValue> &values);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_FORWARDPARTS_H
