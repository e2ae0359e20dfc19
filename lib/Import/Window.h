//===- Window.h - How a window walks over an image --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_WINDOW_H
#define DIVISI_LIB_IMPORT_WINDOW_H

#include "NodeImporter.h"

namespace divisi {

/// How a window walks over the spatial dims.
struct Window {
  std::vector<int64_t> kernel, strides, dilations; ///< Each at least 1.
  std::vector<int64_t> lo, hi; ///< Padding, each at least 0.
  /// Positions per dim. With ceil_mode the last window may hang over; `over`
  /// says by how much beyond hi.
  std::vector<int64_t> count, over;
};

/// Extents and attributes beyond are mistakes.
inline constexpr int64_t kLargestExtent = int64_t{1} << 40;

/// Reads strides, dilations and pads of a window over `extents`; fails where
/// they do not fit.
Window readWindow(NodeImporter &node, std::vector<int64_t> kernel,
                  const rt::Dims &extents);

/// The dims of `x` behind batch and channels.
rt::Dims spatialDims(const Tensor &x);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_WINDOW_H
