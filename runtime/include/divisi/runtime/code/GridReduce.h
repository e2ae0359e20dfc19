//===- GridReduce.h - Reductions in blocks of threads -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Generated code of an `nn.reduce` (GridCode.h has that of regions): a module
// with one kernel. Its parameters are
//
//   two pointers                  the result, and what is reduced
//   numbers, of 64 bits each      how many results there are, how much is
//                                 reduced to each; the extents of the results,
//                                 their strides, the operand's; the extents of
//                                 what is reduced, its strides
//
// Adjacent threads read adjacent elements. If these are reduced to one result,
// the threads of a block share one result, as in regions; else each has its
// own, of which rows of threads have a part each.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDREDUCE_H
#define DIVISI_RUNTIME_CODE_GRIDREDUCE_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <optional>

namespace divisi::rt {

/// See the file's head. What differs from rank to rank is in numbers alone.
struct GridReduce {
  /// Threads of a block where each has a result: so many side by side, and so
  /// many that share one.
  static constexpr uint32_t columns = 32, parts = 8;

  /// As `kind` of the operator says it.
  enum class Kind : uint8_t { Sum, Prod, Max, Min, And, Or };

  Kind kind;            ///< How elements are combined.
  DType from, to;       ///< Elements of the operand, of the result.
  bool isAlongRow;      ///< Elements side by side are reduced to one.
  int64_t fromBase = 0; ///< The first element that is read.
  /// Dimensions in the order in which the operand is stored.
  Dims keptExtents, toStrides, fromStrides;
  Dims reducedExtents, reducedStrides;

  /// That of `site`; nothing if it does something else, or has elements that
  /// no GPU computes with.
  static std::optional<GridReduce> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 2; }
  /// How many numbers the kernel takes.
  size_t numberCount() const {
    return 2 + 3 * keptExtents.size() + 2 * reducedExtents.size();
  }
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDREDUCE_H
