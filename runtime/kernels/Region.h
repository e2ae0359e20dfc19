//===- Region.h - Several operators in one call -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of `fused` that a backend has without compiling anything: each
// part of the region is run by a kernel of its own. What is between parts lies
// in the call's workspace, or where the result will be:
//
//   %h = matmul %x, %w     writes the result's bytes
//   %y = add %h, %b        writes them again, over %h
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_REGION_H
#define DIVISI_RUNTIME_KERNELS_REGION_H

#include "divisi/runtime/Kernel.h"

namespace divisi::rt {

/// Whose kernels run parts, the first that takes one.
using Backends = std::span<const Backend *const>;

/// Whether one of `backends` takes each part of the region of `site`.
bool acceptsRegion(const CallSite &site, Backends backends);
/// What a call wants whose parts are run by any of `backends`.
KernelQuery queryRegion(const CallSite &site, Backends backends);
/// The parts, prepared; null and a message if none of `backends` does one.
std::unique_ptr<PreparedKernel>
prepareRegion(const CallSite &site, Backends backends, std::string &error);

/// The kernel of `fused` that runs parts by what `backends()` returns.
template <auto backends> Kernel regionKernel() {
  Kernel kernel{
      fusedOp, 1, KernelUse::Whole,
      [](const CallSite &site) { return queryRegion(site, backends()); },
      [](const CallSite &site, std::string &error) {
        return prepareRegion(site, backends(), error);
      }};
  kernel.accepts = [](const CallSite &site) {
    return acceptsRegion(site, backends());
  };
  return kernel;
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_REGION_H
