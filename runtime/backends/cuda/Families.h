//===- Families.h - The kernels of the backend `cuda` -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_FAMILIES_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_FAMILIES_H

#include "divisi/runtime/Kernel.h"

namespace divisi::rt::cuda {

/// What the compiler has made code of (GridCode.h).
std::span<const Kernel> gridKernels();

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_FAMILIES_H
