//===- SafeTensors.h - Writing .safetensors ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format of Hugging Face: the length of a header (u64), the header, which
// is JSON, and the elements of all tensors, one behind the other. Each begins
// at a multiple of 64 bytes of the file only if those before it allow that.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TENSORS_SAFETENSORS_H
#define DIVISI_RUNTIME_TENSORS_SAFETENSORS_H

#include "divisi/runtime/kernels/HostTensor.h"

#include <functional>
#include <string>
#include <vector>

namespace divisi::rt {

/// A tensor of such a file.
struct SafeTensor {
  std::string name;        ///< UTF-8; no other has it.
  DType type = DType::F32; ///< Of its elements.
  Dims dims;               ///< The extents.
};

/// Gives the bytes of the tensor of that index, which stay until it is called
/// again.
using SafeTensorBytes =
    std::function<Expected<std::span<const std::byte>>(size_t index)>;

/// Writes `tensors` through a temporary name, and returns where in the file the
/// first begins; the others follow it without gaps. Fails with File, with
/// Unsupported for a type that the format lacks, and as `bytes` does.
Expected<int64_t> writeSafeTensors(const std::string &path,
                                   const std::vector<SafeTensor> &tensors,
                                   const SafeTensorBytes &bytes);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TENSORS_SAFETENSORS_H
