//===- Reshape.h - Reshapes of boxes ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shapes of a reshape fall into segments: the shortest runs of dimensions
// on both sides with equal products.
//
//   [6, 4, 5] → [2, 3, 20]      (6 | 2 3)  (4 5 | 20)
//
// A box that is an interval of the row-major order in every segment, the same
// one on both sides, keeps its bytes. Other boxes are copied by a table.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_RESHAPE_H
#define DIVISI_RUNTIME_KERNELS_RESHAPE_H

#include "divisi/runtime/kernels/Checks.h"

namespace divisi::rt {

/// Whether the result's box has the operand's bytes in the operand's order.
bool reshapeKeepsBytes(const TensorInfo &operand, const TensorInfo &result);

/// Where the elements of the result's box lie in the operand's.
struct ReshapeMap {
  /// Per segment and iteration of the result's box in it, elements to add.
  std::vector<Dims> offsets;

  /// Copies elements of `width` bytes between where the boxes begin.
  void run(int64_t width, void *to, const void *from) const;
};

/// Fails if the shapes differ in their products or the operand's box lacks an
/// element.
bool makeReshapeMap(const CallSite &site, const Checks &checks,
                    ReshapeMap &map);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_RESHAPE_H
