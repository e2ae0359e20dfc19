//===- Window.h - Windows that slide over a tensor --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Iteration o and tap k of a window read the global index
//
//   o·stride + k·dilation − low
//
// Outside of the tensor that is padding. A box of the result reads a part of
// the operand, which its box must hold.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_WINDOW_H
#define DIVISI_RUNTIME_KERNELS_WINDOW_H

#include "runtime/kernels/Nest.h"

namespace divisi::rt {

/// One dimension of a window, seen from a box of the result and a box of the
/// operand.
struct WindowDim {
  int64_t taps = 1, stride = 1, dilation = 1, low = 0;
  int64_t global = 0;            ///< Extent of the operand.
  int64_t begin = 0, extent = 0; ///< The result's box.
  int64_t operandOffset = 0;     ///< Of the operand's box.

  /// The operand's global index of local iteration i and tap k.
  int64_t index(int64_t i, int64_t k) const {
    return (begin + i) * stride + k * dilation - low;
  }
  /// The local iterations [first, last) whose tap k is not padding.
  void clip(int64_t k, int64_t &first, int64_t &last) const;
};

/// The attributes of a window over `dims` dimensions of operand 0, the first of
/// which is `firstDim`; `taps` are the kernel's extents. Checks the result's
/// extents and that the operand's box has the reach.
bool makeWindow(const CallSite &site, const Checks &checks, size_t firstDim,
                const Dims &taps, std::vector<WindowDim> &window);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_WINDOW_H
