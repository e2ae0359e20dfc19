//===- Families.h - The tables of oneDNN kernels ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_FAMILIES_H
#define DIVISI_RUNTIME_BACKENDS_CPU_FAMILIES_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt::cpu {

/// By oneDNN.
std::span<const Kernel> attentionKernels();
std::span<const Kernel> attentionGradientKernels();
std::span<const Kernel> matmulKernels();
/// Of bytes, by oneDNN, alone or at the begin of a region.
std::span<const Kernel> int8ConvKernels();
std::span<const Kernel> int8MatmulKernels();
/// By oneDNN, too.
std::span<const Kernel> convKernels();
/// Gradients of convolutions by their weights.
std::span<const Kernel> convWeightsKernels();
std::span<const Kernel> pointKernels();
/// By vectors of ours.
std::span<const Kernel> clampKernels();
std::span<const Kernel> normalizeKernels();
std::span<const Kernel> poolKernels();
std::span<const Kernel> quantizedKernels();
std::span<const Kernel> reduceKernels();
std::span<const Kernel> sigmoidKernels();
/// On tensors whose channels come last: by the kernel of what they are stored
/// as.
std::span<const Kernel> permutedKernels();
/// Those of f16 and bf16 by those of f32.
std::span<const Kernel> widenedKernels();
/// Reference kernels, and those of poolKernels() and reduceKernels(), a piece
/// of the result for each thread.
std::span<const Kernel> threadedKernels();

/// Regions that the compiler has made code of.
std::span<const Kernel> nativeKernels();

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_FAMILIES_H
