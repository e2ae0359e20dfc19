//===- CudaBackend.h - NVIDIA GPUs ------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_CUDABACKEND_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_CUDABACKEND_H

#include "divisi/runtime/device/Device.h"
#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt {

/// Kernels for GPUs. The table needs no GPU: kernels can be asked about calls
/// anywhere. Products of f32 may be those of numbers rounded to TF32, with 10
/// bits behind the point, if `mayRound`; sums are of f32 in any case.
const Backend &cudaBackend(bool mayRound = false);

/// How many GPUs this process is shown. Device if there is no driver, or one
/// that is too old.
Expected<int> countCudaDevices();

/// GPU number `ordinal` of this machine, as CUDA counts them. Device if there
/// is none, or no driver, or one that is too old.
Expected<std::shared_ptr<Device>> makeCudaDevice(int ordinal);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_CUDABACKEND_H
