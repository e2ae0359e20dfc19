//===- GridConvolution.h - Convolutions by threads --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Generated code of an `nn.conv` or `nn.conv_dgrad` that no library takes, and
// of `nn.conv_integer`: a module with one kernel. Its parameters are
//
//   three pointers                the result, the operand, the weights
//   numbers, of 64 bits each      as `Number`; the zero points of codes; the
//                                 extents of the result; of each spatial
//                                 dimension as `numbersOfDim` says
//
// Each thread has elements of the result. Of a convolution it sums over the
// channels of the feature's group, of a gradient over the features:
//
//   y[n, f, i]  = Σ c, k  x[n, c, i · stride + k · dilation − low] · w[f, c, k]
//   dx[n, c, i] = Σ f, k  dy[n, f, (i + low − k · dilation) / stride] · w[f, c,
//   k]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_GRIDCONVOLUTION_H
#define DIVISI_RUNTIME_CODE_GRIDCONVOLUTION_H

#include "divisi/runtime/code/GridLaunch.h"
#include "divisi/runtime/kernels/Kernel.h"

#include <array>
#include <optional>

namespace divisi::rt {

/// See the file's head. What differs from rank to rank is in numbers alone.
struct GridConvolution {
  /// Beside the result's extents. Of the features or channels that are summed,
  /// and of those of the result: how many a group has, the weights' box, and
  /// strides.
  enum Number : size_t {
    Count,        ///< Elements of the result.
    ImageStride,  ///< Of the operand.
    SummedStride, ///< The same, from one that is summed to the next.
    SummedOffset, ///< Of the operand's box.
    SummedPerGroup,
    SummedBegin,
    SummedEnd,
    SummedWeightStride,
    FirstResult, ///< Of the result's box.
    ResultPerGroup,
    ResultBegin,
    ResultWeightStride,
    Taps, ///< Of all dimensions.
    numNumbers
  };
  /// Of a spatial dimension: where the first iteration's first tap is, times
  /// the stride of a gradient; stride, dilation, taps; the operand's extent,
  /// the first index of its box, and its stride.
  static constexpr size_t numbersOfDim = 7;

  bool isGradient = false; ///< Of the operand: `nn.conv_dgrad`.
  bool hasCodes = false;   ///< Less `zeros`.
  /// What is subtracted from operand and weights.
  std::array<int64_t, 2> zeros = {};
  std::array<DType, 2> types = {};
  DType to = DType::F32;
  Dims extents; ///< Of the result.
  std::array<int64_t, numNumbers> numbers = {};
  std::vector<std::array<int64_t, numbersOfDim>> dims; ///< Spatial.
  int64_t base = 0; ///< The element of the operand where its images begin.

  /// That of `site`; nothing if it does something else, or has elements that
  /// no GPU computes with.
  static std::optional<GridConvolution> of(const CallSite &site);

  /// All that the kernel depends on.
  std::string structure() const;
  /// How many pointers the kernel takes.
  size_t pointerCount() const { return 3; }
  /// How many numbers the kernel takes.
  size_t numberCount() const {
    return numNumbers + (hasCodes ? 2 : 0) + extents.size() +
           numbersOfDim * dims.size();
  }
  /// The one launch.
  GridLaunch launch() const;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_GRIDCONVOLUTION_H
