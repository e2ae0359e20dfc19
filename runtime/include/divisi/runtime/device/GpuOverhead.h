//===- GpuOverhead.h - What GPUs hold beside tensors ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU of NVIDIA's has less room than its memory: the driver's context, the
// code that it has loaded, and NCCL's buffers lie there, too. None of them
// tells before how much it takes. The granularity is that of the driver's
// documentation; the rest are estimates, which `make test-gpu` compares with
// what a GPU says.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_DEVICE_GPUOVERHEAD_H
#define DIVISI_RUNTIME_DEVICE_GPUOVERHEAD_H

#include <cstdint>

namespace divisi::rt {

/// What a GPU of a rank holds beside what the rank has allocated, in bytes.
struct GpuOverhead {
  int64_t context = 0; ///< Of the driver.
  int64_t modules = 0; ///< Generated kernels.
  /// Of communicators, and what is added to memory that they know.
  int64_t nccl = 0;

  /// All of it.
  int64_t total() const { return context + modules + nccl; }
  friend bool operator==(const GpuOverhead &, const GpuOverhead &) = default;

  /// A primary context with the driver's heaps and stacks.
  static constexpr int64_t contextBytes = int64_t(512) << 20;
  /// What memory is handed out in multiples of where NCCL allocates it, and for
  /// code (CUDA Driver API, cuMemGetAllocationGranularity).
  static constexpr int64_t granularity = int64_t(2) << 20;
  /// A communicator with channels of its own: with two neighbours in each of 16
  /// the buffers of three protocols, the largest of which has 4 MiB (NCCL User
  /// Guide, "Environment Variables", NCCL_BUFFSIZE).
  static constexpr int64_t communicatorBytes = int64_t(384) << 20;
  /// One that shares those of the communicator that it is split from.
  static constexpr int64_t partBytes = int64_t(16) << 20;

  /// `bytes` in whole pieces of that size.
  static constexpr int64_t rounded(int64_t bytes) {
    return (bytes + granularity - 1) / granularity * granularity;
  }
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_DEVICE_GPUOVERHEAD_H
