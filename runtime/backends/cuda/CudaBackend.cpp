//===- CudaBackend.cpp - The backend `cuda` -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/backends/cuda/CudaBackend.h"
#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/Families.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

namespace {

class CudaBackend final : public Backend {
public:
  explicit CudaBackend(bool mayRound) {
    for (auto family :
         {cuda::productKernels(mayRound), cuda::convKernels(mayRound),
          cuda::gridKernels(), cuda::moveKernels(), cuda::launchedKernels(),
          cuda::indexedKernels()}) {
      kernels_.insert(kernels_.end(), family.begin(), family.end());
    }
    std::ranges::stable_sort(kernels_, {}, &Kernel::op);
  }
  std::string_view name() const override { return "cuda"; }
  std::string_view space() const override { return cuda::spaceName; }
  std::span<const Kernel> kernels() const override { return kernels_; }

private:
  std::vector<Kernel> kernels_;
};

} // namespace

const Backend &divisi::rt::cudaBackend(bool mayRound) {
  static const CudaBackend exact(false), rounded(true);
  return mayRound ? rounded : exact;
}

Expected<int> divisi::rt::countCudaDevices() {
  auto driver = cuda::Driver::open();
  if (!driver) {
    return driver.status();
  }
  int count = 0;
  Status status = (*driver)->check((*driver)->deviceGetCount(&count),
                                   "count its devices");
  return status.isOk() ? Expected<int>(count) : status;
}

Expected<std::shared_ptr<Device>> divisi::rt::makeCudaDevice(int ordinal) {
  auto driver = cuda::Driver::open();
  return driver ? cuda::makeDevice(*driver, ordinal) : driver.status();
}
