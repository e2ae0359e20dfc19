//===- CudaKernel.h - A kernel that is ready on a GPU -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What allocates, loads code or makes handles may wait for all work of a GPU
// (CUDA Programming Guide, "Implicit Synchronization" and "Lazy Loading"; cuDNN
// API, cudnnDestroy; cuBLAS, cublasLtCreate). While a collective waits there
// for other ranks, that would be a deadlock if these wait for the same driver.
// So all of it is done before the first collective, for the GPU alone:
//
//   prepare()     extents are fixed; of no GPU yet
//   makeReady()   code, handles, algorithms, pinned memory of one GPU
//   launch()      puts work on a stream, nothing else
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_CUDAKERNEL_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_CUDAKERNEL_H

#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/backends/cuda/CudaDevice.h"

namespace divisi::rt::cuda {

/// What all prepared kernels of the backend are.
class CudaKernel : public PreparedKernel {
public:
  /// Device::makeReady(), once, of the device with that context.
  virtual Status makeReady(const std::shared_ptr<const Context> &context) = 0;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_CUDAKERNEL_H
