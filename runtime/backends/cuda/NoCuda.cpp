//===- NoCuda.cpp - A build without CUDA's headers ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/backends/cuda/CudaBackend.h"
#include "divisi/runtime/backends/cuda/GpuTopology.h"

using namespace divisi;
using namespace divisi::rt;

namespace {

/// Has no kernels, so nothing is compiled for it.
class NoBackend final : public Backend {
public:
  std::string_view name() const override { return "cuda"; }
  std::string_view space() const override { return "cuda"; }
  std::span<const Kernel> kernels() const override { return {}; }
};

} // namespace

const Backend &divisi::rt::cudaBackend(bool) {
  static const NoBackend backend;
  return backend;
}

static Status noDevices() {
  return makeError(
      ExitCode::Device,
      "this build of divisi does not support GPUs: it found no cuda.h; build "
      "it again where CUDA 12 or later is installed");
}

Expected<int> divisi::rt::countCudaDevices() { return noDevices(); }

Expected<std::shared_ptr<Device>> divisi::rt::makeCudaDevice(int) {
  return noDevices();
}

Expected<GpuTopology> divisi::rt::readGpuTopology() { return noDevices(); }
