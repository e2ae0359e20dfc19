//===- MappedArrays.h - Arrays that stay in their files ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TENSORS_MAPPEDARRAYS_H
#define DIVISI_RUNTIME_TENSORS_MAPPEDARRAYS_H

#include "divisi/runtime/tensors/TensorFile.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace divisi::rt {

/// An array of a file, row-major, as it lies there: booleans may be other than
/// 0 and 1. It need not be aligned.
struct MappedArray {
  std::string name;                    ///< In its .npz; of an .npy empty.
  TensorHead head;                     ///< As the file says it.
  std::span<const std::byte> elements; ///< As many as the shape says.
  std::shared_ptr<const void> owner;   ///< Keeps them.
  bool isMapped = true;                ///< Else they are in memory.
};

/// The arrays of the .npz or .npy at `path`. Their elements stay in the file,
/// and are not compared with checksums; those that are compressed, or lie in
/// Fortran's order, come to memory. Fails as readTensors() does.
Expected<std::vector<MappedArray>> mapArrays(const std::string &path);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TENSORS_MAPPEDARRAYS_H
