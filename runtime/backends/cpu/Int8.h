//===- Int8.h - Whether products of bytes are worth it ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_INT8_H
#define DIVISI_RUNTIME_BACKENDS_CPU_INT8_H

namespace divisi::rt::cpu {

/// Whether products of bytes are summed exactly by this processor, and so by
/// kernels of this backend: where it has no instructions for that (VNNI),
/// oneDNN saturates sums of two in 16 bits.
bool sumsBytesExactly();

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_INT8_H
