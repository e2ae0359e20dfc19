//===- CpuBackend.cpp - The backend of oneDNN and threads -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/Region.h"

#include <algorithm>

namespace divisi::rt {
namespace {

/// What this backend does not take, the reference does.
const RegionRunner &withReference() {
  static const Backend *const backends[] = {&cpuBackend(), &referenceBackend()};
  static const RegionRunner runner{backends, &cpu::forEach};
  return runner;
}

/// Joins the tables; of two kernels for one operator oneDNN's is asked first.
class CpuBackend final : public Backend {
public:
  CpuBackend() {
    for (auto family :
         {cpu::int8ConvKernels(), cpu::int8MatmulKernels(),
          cpu::matmulKernels(), cpu::convKernels(), cpu::convWeightsKernels(),
          cpu::pointKernels(), cpu::attentionKernels(),
          cpu::attentionGradientKernels()}) {
      kernels_.insert(kernels_.end(), family.begin(), family.end());
    }
    for (Kernel &kernel : kernels_) {
      kernel.library = "oneDNN";
    }
    for (auto family :
         {cpu::quantizedKernels(), cpu::clampKernels(), cpu::sigmoidKernels(),
          cpu::normalizeKernels(), cpu::widenedKernels(),
          cpu::permutedKernels(), cpu::threadedKernels(), cpu::poolKernels(),
          cpu::reduceKernels(), cpu::nativeKernels()}) {
      kernels_.insert(kernels_.end(), family.begin(), family.end());
    }
    kernels_.push_back(regionKernel<&withReference>());
    std::stable_sort(
        kernels_.begin(), kernels_.end(),
        [](const Kernel &a, const Kernel &b) { return a.op < b.op; });
  }
  std::string_view name() const override { return "cpu"; }
  std::span<const Kernel> kernels() const override { return kernels_; }

private:
  std::vector<Kernel> kernels_;
};

} // namespace

const Backend &cpuBackend() {
  static const CpuBackend backend;
  return backend;
}

} // namespace divisi::rt
