//===- CudaBackend.cpp - The backend `cuda` -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/CudaBackend.h"
#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/Families.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

namespace {

class CudaBackend final : public Backend {
public:
  CudaBackend() {
    std::span<const Kernel> grid = cuda::gridKernels();
    kernels_.assign(grid.begin(), grid.end());
    std::ranges::stable_sort(kernels_, {}, &Kernel::op);
  }
  std::string_view name() const override { return "cuda"; }
  std::string_view space() const override { return cuda::spaceName; }
  std::span<const Kernel> kernels() const override { return kernels_; }

private:
  std::vector<Kernel> kernels_;
};

} // namespace

const Backend &divisi::rt::cudaBackend() {
  static const CudaBackend backend;
  return backend;
}

Expected<std::shared_ptr<Device>> divisi::rt::makeCudaDevice(int ordinal) {
  auto driver = cuda::Driver::open();
  return driver ? cuda::makeDevice(*driver, ordinal) : driver.status();
}
