//===- GpuTopology.h - GPUs and the links between them ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA's driver lists the GPUs, and says which of them reach each other's
// memory; NVML, NVIDIA's management library, describes their links. It comes
// with the driver and is opened at run time as well. If it is missing, paths
// are not known, and nothing is assumed in their place.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_GPUTOPOLOGY_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_GPUTOPOLOGY_H

#include "divisi/Support/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace divisi::rt {

/// What joins two GPUs of a machine.
enum class GpuPath : uint8_t { Unknown, NvLink, Pci };

/// What is read of one GPU.
struct GpuFacts {
  std::string name;            ///< `NVIDIA H100 80GB HBM3`
  std::string pciAddress;      ///< `0000:18:00.0`
  int capability = 0;          ///< 90: of 9.0.
  int64_t memoryBytes = 0;     ///< All of it.
  int64_t multiprocessors = 0; ///< Streaming multiprocessors.
  // By NVML; -1: not known.
  int nvLinks = -1;       ///< That are up.
  int pciGeneration = -1; ///< The best that GPU and machine can.
  int pciLanes = -1;      ///< As many.
};

/// The GPUs that this process sees, as CUDA counts them.
struct GpuTopology {
  std::vector<GpuFacts> gpus; ///< By number.
  /// Row by row; of a GPU and itself Unknown.
  std::vector<GpuPath> paths;
  std::vector<bool> reaches; ///< Whether the row's GPU reaches the column's.
  std::string unknown;       ///< Why paths are not known; empty: they are.

  /// Between two of them.
  GpuPath path(size_t a, size_t b) const { return paths[a * gpus.size() + b]; }
};

/// Fails with Device where there is no GPU, or no driver, or one that is too
/// old. Lets GPUs that can reach each other's memory.
Expected<GpuTopology> readGpuTopology();

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_GPUTOPOLOGY_H
