//===- Formats.h - Tensors whose elements have another order ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor whose channels come last has the bytes of a plain one with permuted
// dimensions. That is all that kernels need to know of the format:
//
//   [8, 64, 7, 7] channels_last        stored as [8, 7, 7, 64]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_FORMATS_H
#define DIVISI_RUNTIME_KERNELS_FORMATS_H

#include "divisi/runtime/kernels/Nest.h"

namespace divisi::rt {

/// Whether its channels come last; such a tensor has rank 3 at least.
bool isChannelsLast(const TensorInfo &info);
/// Whether some operand or result of the call is not row-major.
bool hasFormats(const CallSite &site);
/// Whether these are all formats that the call has.
bool isPlainOrChannelsLast(const CallSite &site);

/// The order in which a tensor's dimensions are stored where its channels come
/// last: 0, 2, 3, ..., 1.
Dims channelsLastOrder(size_t rank);
/// The order in which the tensor's dimensions are stored.
Dims storedOrder(const TensorInfo &info);
/// `values`, one per dimension, in the order of `dims`.
Dims permuted(const Dims &values, const Dims &dims);
/// The plain tensor that has the same bytes.
TensorInfo storedAs(const TensorInfo &info);
/// The same box, row-major.
TensorInfo asPlain(TensorInfo info);
/// The same tensor: with its channels last, if it has these bytes in either
/// order (a vector per image; one channel).
TensorInfo preferChannelsLast(TensorInfo info);
/// How far apart the elements of the box are, by dimension, in elements.
Dims stridesOf(const TensorInfo &info);

/// Kernels for calls of `plain` with formats: all tensors are brought into
/// row-major order and back. They have the same versions.
std::vector<Kernel> throughPlain(std::span<const Kernel> plain);

/// The kernel of `pack`.
Kernel packKernel();

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_FORMATS_H
