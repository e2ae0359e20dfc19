//===- Versions.h - What goes together of NVIDIA's --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The libraries of a run are those of the CUDA that the build's headers are of:
//
//   headers    driver       cuBLASLt            cuDNN           NCCL
//   CUDA 12    12.0 or up   libcublasLt.so.12   libcudnn.so.9   libnccl.so.2
//   CUDA 13    13.0 or up   libcublasLt.so.13   libcudnn.so.9   libnccl.so.2
//
// Within a major version an older driver runs what a newer toolkit has made
// (CUDA Compatibility, "Minor Version Compatibility"), but for PTX, which the
// driver translates; one of an older major version does not. cuDNN and NCCL
// have one name for all, so whether a driver can run them is known by the row.
// The driver is opened, and asked, before any of the others.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_VERSIONS_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_VERSIONS_H

#include <cuda.h>
#include <string>

namespace divisi::rt::cuda::versions {

/// The major version of CUDA that the build's headers are of.
inline constexpr int cuda = CUDA_VERSION / 1000;
static_assert(cuda >= 12, "CUDA 12 is the first with libraries of kernels that "
                          "belong to no context");
/// The least that a driver says of itself.
inline constexpr int oldestDriver = cuda * 1000;

/// 12040 is "12.4".
inline std::string nameOfCuda(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

/// The name of a library with that major version.
inline std::string fileOf(const std::string &library, int major) {
  return library + ".so." + std::to_string(major);
}

} // namespace divisi::rt::cuda::versions

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_VERSIONS_H
