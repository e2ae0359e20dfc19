//===- Grid.cpp - Kernels of the code generator ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "runtime/backends/cuda/Families.h"
#include "runtime/backends/cuda/PreparedLaunches.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

bool divisi::rt::cuda::acceptsGrid(const CallSite &site) {
  return isGridTarget(site.code->target) && RowCall::of(site).has_value();
}

/// A thread reads all elements that it needs before it writes the one that may
/// lie over them.
KernelQuery divisi::rt::cuda::queryGrid(const CallSite &site) {
  KernelQuery query;
  RowCall call = *RowCall::of(site);
  const RowNest &nest = call.nest();
  size_t first = nest.tensors.size() - site.results.size();
  for (size_t o = 0; o < site.operands.size(); ++o) {
    int tensor = call.tensorOf(static_cast<int>(o));
    for (size_t r = 0; r < site.results.size() && tensor >= 0; ++r) {
      const RowNest::Tensor &from = nest.tensors[tensor];
      const RowNest::Tensor &to = nest.tensors[first + r];
      if (from.strides == to.strides &&
          byteWidth(from.type) == byteWidth(to.type)) {
        query.inPlace.emplace_back(int(o), int(r));
      }
    }
  }
  return query;
}

std::unique_ptr<PreparedKernel>
divisi::rt::cuda::prepareGrid(const CallSite &site, std::string &error) {
  return prepareCode<PreparedLaunches>(site, error,
                                       gridLaunches(*RowCall::of(site)));
}

static std::vector<Kernel> makeKernels() {
  std::vector<Kernel> kernels;
  auto add = [&](std::string_view op, int version) {
    kernels.push_back({op, version, KernelUse::Whole, queryGrid, prepareGrid,
                       acceptsGrid, /*takesFormats=*/true, /*takesCode=*/true});
  };
  add(fusedOp, 1);
  for (const Kernel &kernel : referenceBackend().kernels()) {
    if (isElementwise(kernel.op) || findRowOperator(kernel.op)) {
      add(kernel.op, kernel.version);
    }
  }
  return kernels;
}

std::span<const Kernel> divisi::rt::cuda::gridKernels() {
  static const std::vector<Kernel> kernels = makeKernels();
  return kernels;
}
