//===- GpuPaths.h - What joins GPUs -----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_GPUPATHS_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_GPUPATHS_H

#include "divisi/runtime/backends/cuda/GpuTopology.h"

namespace divisi::rt::cuda {

/// Reads what NVML knows of the GPUs, whose PCI addresses are known, and of the
/// paths between them. Device, and paths as they were or in part, if NVML is
/// not there or does not know them.
Status readGpuPaths(GpuTopology &topology);

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_GPUPATHS_H
