//===- Movement.h - Sources of moved elements -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes, slices, broadcasts, pads and concatenations all are boxes of the
// result that are walked together with an operand:
//
//   concat %a [8, 3], %b [8, 5]    [8, 3] from %a, [8, 5] from %b
//   transpose %a {1, 0}            [3, 8] from %a, along its strides 1 and 3
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_MOVEMENT_H
#define DIVISI_RUNTIME_KERNELS_MOVEMENT_H

#include "divisi/runtime/kernels/Nest.h"

#include <optional>
#include <vector>

namespace divisi::rt {

/// A part of the result, with elements of one operand.
struct MovedPart {
  size_t operand = 0; ///< Which operand has the elements.
  Dims extents;  ///< Along the dimensions of the result; none is 0.
  Walk to, from; ///< In elements.
};

/// All that a call moves.
struct Movement {
  std::vector<MovedPart> parts; ///< No two have the same elements.
  /// What the other elements are, if there may be some.
  std::optional<double> fill = std::nullopt;
};

/// What `site` moves: a broadcast, concat, pad, slice or transpose. Nothing, and
/// a message, if it is none, or not a right one.
std::optional<Movement> planMovement(const CallSite &site,
                                     const Checks &checks);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_MOVEMENT_H
