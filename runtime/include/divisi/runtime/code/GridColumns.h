//===- GridColumns.h - Strided lines, by threads ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code of an `nn.softmax` or `nn.normalize` of lines whose elements
// are not adjacent (GridCode.h has the code of the others): a module with one
// kernel. Its parameters are
//
//   two pointers                  the result, and the operand
//   numbers, of 64 bits each      how many lines there are, and how long they
//                                 are; the extents of the lines, the strides of
//                                 the result, of the operand; the extents of a
//                                 line, and the same strides
//
// Adjacent threads have adjacent lines, of which rows of threads have a part
// each, as reductions across rows do (GridReduce.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDCOLUMNS_H
#define DIVISI_RUNTIME_CODE_GRIDCOLUMNS_H

#include "divisi/runtime/code/GridReduce.h"

namespace divisi::rt {

/// See the file's head. What differs from rank to rank is in numbers alone.
struct GridColumns {
  /// As those of GridReduce.
  static constexpr uint32_t columns = GridReduce::columns,
                            parts = GridReduce::parts;

  DType type = DType::F32; ///< Of operand and result.
  bool isSoftmax = true;   ///< Else `nn.normalize`.
  bool isLog = false;      ///< Of a softmax: its logarithm.
  bool centers = false;    ///< Of a normalize: less the mean.
  double epsilon = 0;      ///< Of a normalize: added to the mean square.
  Dims extents, toStrides, fromStrides;             ///< Of the lines.
  Dims lineExtents, toLineStrides, fromLineStrides; ///< Of their elements.
  int64_t base = 0; ///< The first element that is read.

  /// That of `site`; nothing if it does something else, or regions do it.
  static std::optional<GridColumns> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 2; }
  /// How many numbers the kernel takes.
  size_t numberCount() const {
    return 2 + 3 * extents.size() + 3 * lineExtents.size();
  }
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDCOLUMNS_H
