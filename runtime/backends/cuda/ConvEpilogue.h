//===- ConvEpilogue.h - What cuDNN does behind a convolution ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_CONVEPILOGUE_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_CONVEPILOGUE_H

#include "divisi/runtime/code/ProductRegion.h"

#include <cudnn_graph.h>

namespace divisi::rt::cuda {

/// One operator on the result of the convolution, or of the one before.
struct ConvStep {
  cudnnPointwiseMode_t mode; ///< What it computes.
  int operand = -1;          ///< Of the call, beside the chain; -1: none.
  bool operandFirst = false; ///< Whether `operand` is the left one.

  /// Whether it compares: what it makes of NaN is the engine's choice.
  bool compares() const;
};

/// All that goes on with the convolution of `site`, in order, as operators that
/// the library has; nothing if it has not all of them. They are those of a
/// region with one result, on whose elements each works, with tensors that are
/// like the result but for dimensions of extent 1.
std::optional<std::vector<ConvStep>> findSteps(const CallSite &site);

/// `operand` as dimensions of a result of that rank: 1 where it has none.
TensorInfo withRank(const TensorInfo &operand, size_t rank);

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_CONVEPILOGUE_H
