//===- PlaneCopy.h - Boxes of a GPU's memory are copied ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_PLANECOPY_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_PLANECOPY_H

#include "runtime/backends/cuda/CudaDevice.h"

#include <vector>

namespace divisi::rt::cuda {

/// Copies a box between two places that have its dimensions in one order, with
/// as few calls as CUDA has: one for all planes that lie evenly apart.
class PlaneCopy {
public:
  /// Of elements that are `width` bytes wide; strides by element.
  PlaneCopy(int64_t width, const Dims &extents, const Dims &sourceStrides,
            const Dims &resultStrides);

  /// Puts it on `queue`.
  Status run(const CudaQueue &queue, const void *source, void *result) const;

private:
  /// Strides in bytes.
  struct Loop {
    int64_t count, source, result;
  };

  Loop take(bool isPlane);

  int64_t rowBytes_;
  Loop rows_, planes_;
  std::vector<Loop> calls_; ///< Of which there is one per iteration.
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_PLANECOPY_H
