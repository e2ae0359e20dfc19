//===- GridWindows.h - Windows in blocks of threads -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code of operators that read a window for each element of the result
// (GridCode.h has that of regions): a module with one kernel. Its parameters
// are the result, the operand, and numbers of 64 bits each. Every thread has
// elements of the result, in storage order, and finds their operands by global
// indices.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDWINDOWS_H
#define DIVISI_RUNTIME_CODE_GRIDWINDOWS_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Window.h"

#include <optional>

namespace divisi::rt {

/// `nn.pool_max` and `nn.pool_sum`, row-major or with channels last. What
/// differs from rank to rank is in numbers alone.
struct GridPool {
  /// What the kernel is handed of a dimension, in this order: the operand's
  /// global index of the first iteration's first tap; by what that grows from
  /// iteration to iteration, and from tap to tap; the taps; the operand's
  /// extent, the first index of its box, and its stride.
  static constexpr size_t numbersOfDim = 7;

  bool isMax = false; ///< `nn.pool_max`; else `nn.pool_sum`.
  /// Of the operand, of the result.
  DType from = DType::F32, to = DType::F32;
  std::vector<WindowDim> window; ///< Per dimension.
  Dims order;                    ///< In which the result is stored.
  Dims strides;                  ///< Of the operand.

  /// That of `site`; nothing if it does something else.
  static std::optional<GridPool> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 2; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return 1 + (1 + numbersOfDim) * order.size(); }
  /// The one launch.
  GridLaunch launch() const;
};

/// `nn.resample`, of which the kernel has the tables: for each index along the
/// axis of the whole result what it reads, and with which weights. Its numbers
/// are how many elements there are; their extents, and the operand's strides;
/// the first index of the result's box, and of the operand's, along the axis,
/// and the stride there.
struct GridResample {
  DType type = DType::F32;     ///< Of operand and result.
  size_t axis = 0;             ///< Along which it reads.
  int64_t taps = 1;            ///< Elements that each result reads.
  Dims rows;                   ///< By index and tap.
  std::vector<double> weights; ///< The same.
  Dims order;                  ///< In which the result is stored.
  Dims extents, strides;       ///< In this order; the axis has stride 0.
  int64_t base = 0;            ///< The first element that is read.
  /// Along the axis: where the boxes of result and operand begin, and the
  /// operand's stride.
  int64_t first = 0, operandFirst = 0, rowStride = 0;

  /// That of `site`; nothing if it does something else.
  static std::optional<GridResample> of(const CallSite &site);

  /// Whether elements are moved as they are.
  bool moves() const;
  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 2; }
  /// How many numbers the kernel takes.
  size_t numberCount() const { return 4 + 2 * extents.size(); }
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDWINDOWS_H
