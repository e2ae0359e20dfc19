//===- ConvSides.h - The tensors of a convolution ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_CONVSIDES_H
#define DIVISI_RUNTIME_BACKENDS_CPU_CONVSIDES_H

#include "runtime/backends/cpu/OneDnn.h"

#include <array>

namespace divisi::rt::cpu {

/// What oneDNN is told about the tensors of `nn.conv` or `nn.conv_dgrad`: the
/// part of each that the result's box needs.
struct ConvSides {
  std::array<MemoryDesc, 3> given;   ///< x, w, y, where and as they lie.
  std::array<int64_t, 3> bases = {}; ///< First elements in the boxes.
  Dims before, after;                ///< Padding, by spatial dimension.
};

/// False for calls that ConvBoxes does not take.
bool describeSides(const CallSite &site, ConvSides &sides);

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_CONVSIDES_H
