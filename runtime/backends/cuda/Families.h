//===- Families.h - The kernels of the backend `cuda` -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_FAMILIES_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_FAMILIES_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt::cuda {

/// What the compiler has made code of (GridCode.h).
std::span<const Kernel> gridKernels();
/// Whether `site`, with code, is a call of one of these; ready to be made, or
/// null and a message.
bool acceptsGrid(const CallSite &site);
/// What it may be written over. It may lack the code.
KernelQuery queryGrid(const CallSite &site);
std::unique_ptr<PreparedKernel> prepareGrid(const CallSite &site,
                                            std::string &error);

/// What moves elements, by the compiler's code (GridMove.h).
std::span<const Kernel> moveKernels();

/// Operators that are one launch of the compiler's code, and nothing else
/// (GridAttention.h, GridConvolution.h, GridLines.h, GridPlaces.h,
/// GridProduct.h, GridReduce.h, GridWindows.h).
std::span<const Kernel> launchedKernels();

/// What reads or writes where indices say, by the compiler's code
/// (GridGather.h, GridScatter.h).
std::span<const Kernel> indexedKernels();

/// Products by cuBLASLt, alone or at the head of regions; those of f32 of
/// numbers that are rounded to TF32 if they may. None in a build without its
/// header.
std::span<const Kernel> productKernels(bool mayRound);

/// Convolutions by cuDNN, alone or at the head of regions; as productKernels().
std::span<const Kernel> convKernels(bool mayRound);

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_FAMILIES_H
