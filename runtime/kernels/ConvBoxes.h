//===- ConvBoxes.h - Convolutions for libraries -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library knows nothing of boxes: it is told of a convolution that has the
// same numbers. Padding follows from the boxes. What the window of the first
// and last result wants beyond the operand's box lies outside of the tensor
// (the reference kernel's checks have made sure), and what it does not want is
// left out:
//
//   y[i] for i in 4..7 of 8, of x[3..7], 3 taps, pads 1, 1
//     x[3..7], pads 0, 1
//   y[i] for i in 0..3, of x[0..5]
//     x[0..4], pads 1, 0
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_CONVBOXES_H
#define DIVISI_RUNTIME_KERNELS_CONVBOXES_H

#include "divisi/runtime/kernels/Kernel.h"

#include <array>
#include <optional>

namespace divisi::rt {

/// Whether the reference takes `site` with tensors that are row-major, none of
/// which is empty; operand and result may have channels last.
bool isConvolution(const CallSite &site);

/// What is to be told about the tensors of `nn.conv` or `nn.conv_dgrad`: the
/// part of each that the result's box needs.
struct ConvBoxes {
  /// A tensor, by dimension.
  struct Side {
    Dims extents, strides; ///< In elements.
    int64_t base = 0;      ///< The first element, in the box.
  };
  /// Operand, weights, result. Weights are [features, channels, taps...] of an
  /// `nn.conv`, the features those of all groups.
  std::array<Side, 3> sides;
  int64_t groups = 1;
  /// Padding, by spatial dimension; of the gradient how much of the result lies
  /// outside of what is wanted. None is negative.
  Dims before, after;

  /// Takes whole groups, or any channels and features of one group; nothing for
  /// other calls, and for windows that lie in the padding. `site`
  /// isConvolution().
  static std::optional<ConvBoxes> of(const CallSite &site);
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_CONVBOXES_H
