//===- Families.h - The tables of reference kernels -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_FAMILIES_H
#define DIVISI_RUNTIME_KERNELS_FAMILIES_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt {

/// The operators of one family each, in any order.
std::span<const Kernel> unaryKernels();
std::span<const Kernel> elementwiseKernels();
std::span<const Kernel> contractionKernels();
std::span<const Kernel> windowKernels();
std::span<const Kernel> reduceKernels();
std::span<const Kernel> normalizeKernels();
std::span<const Kernel> integerKernels();
std::span<const Kernel> movementKernels();
std::span<const Kernel> indexKernels();
std::span<const Kernel> orderKernels();
std::span<const Kernel> scatterKernels();
std::span<const Kernel> attentionKernels();
std::span<const Kernel> attentionGradientKernels();
std::span<const Kernel> rotaryKernels();
std::span<const Kernel> quantizeKernels();
std::span<const Kernel> windowGradKernels();
std::span<const Kernel> randomKernels();

/// For kernels that want no scratch and share no buffer.
KernelQuery queryNothing(const CallSite &site);
/// For kernels that may overwrite any operand that has the result's box and
/// element width.
KernelQuery queryInPlace(const CallSite &site);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_FAMILIES_H
