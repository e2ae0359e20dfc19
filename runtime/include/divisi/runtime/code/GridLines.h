//===- GridLines.h - Lines in blocks of threads -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code of operators that need whole lines along one axis
// (GridCode.h has that of regions): a module with one kernel. Its parameters
// are
//
//   two pointers                  the result, and the operand
//   numbers, of 64 bits each      how many lines there are, and how long they
//                                 are; how many elements the result has of
//                                 each; from one element to the next in the
//                                 result, in the operand; the extents of the
//                                 lines, strides of the result, of the operand
//
// The threads of a line are those of a row of GridCode.h.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDLINES_H
#define DIVISI_RUNTIME_CODE_GRIDLINES_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <optional>

namespace divisi::rt {

/// Where lines lie. What differs from rank to rank is in numbers alone.
struct GridLines {
  DType type = DType::F32; ///< Of the operand.
  /// Elements of a line of the operand, and of the result.
  int64_t length = 0, made = 0;
  int64_t stepTo = 1, stepFrom = 1;
  Dims extents, toStrides, fromStrides;
  int64_t base = 0; ///< The first element that is read.

  /// Those of `site` along its attribute `axis`, which the result has, too, if
  /// it `keepsAxis`, with `made` elements of each line; nothing if it does
  /// something else.
  static std::optional<GridLines> of(const CallSite &site, bool keepsAxis);

  /// How many numbers the kernel takes.
  size_t numberCount() const { return 5 + 3 * extents.size(); }
  /// The one launch.
  GridLaunch launch() const;
};

/// `nn.cumulate`: each thread has a part of a line. They tell each other what
/// theirs come to, and go over them once more.
struct GridCumulate {
  GridLines lines;        ///< Along which it goes.
  bool isProduct = false; ///< Of the elements; else their sum.
  bool exclusive = false; ///< Without the element itself.
  bool reverse = false;   ///< From the last element on.

  /// That of `site`; nothing if it does something else.
  static std::optional<GridCumulate> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 2; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return lines.numberCount(); }
  /// The one launch.
  GridLaunch launch() const { return lines.launch(); }
};

/// `nn.arg_reduce` and `nn.top_k`: the indices of the first elements of each
/// line in some order, one after the other. Of equal ones the lower index
/// comes first.
struct GridPick {
  GridLines lines;       ///< Of which it picks.
  bool largest = true;   ///< Come first; NaN is greater than all numbers, ...
  bool nanFirst = false; ///< ... but here comes first in any case.
  bool last = false;     ///< Of equal ones the higher index comes first.

  /// That of `site`; nothing if it does something else.
  static std::optional<GridPick> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 2; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return lines.numberCount(); }
  /// The one launch.
  GridLaunch launch() const { return lines.launch(); }
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDLINES_H
