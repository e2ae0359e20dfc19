//===- Npy.h - What an .npy file begins with --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TENSORS_NPY_H
#define DIVISI_RUNTIME_TENSORS_NPY_H

#include "divisi/runtime/tensors/TensorFile.h"

namespace divisi::rt {

/// No header of NumPy's is longer: NumPy itself reads 10000 characters.
inline constexpr uint64_t maxNpyHeader = 1 << 16;

/// What the header says, which has been compared with the size of the file.
struct NpyHeader {
  TensorHead head;        ///< Type and shape.
  bool isFortran = false; ///< Columns lie together.
  uint64_t bytes = 0;     ///< Of the header; the elements follow.
};

/// Reads the header of a file of `size` bytes that begins with `begin`: all of
/// it, or as many as the longest header has.
Expected<NpyHeader> readNpyHeader(std::span<const std::byte> begin,
                                  uint64_t size);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TENSORS_NPY_H
