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

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt {

/// Whose kernels run parts, the first that takes one.
using Backends = std::span<const Backend *const>;

/// Calls body(context, i) for every i below `count`, by so many threads.
using ForEach = void (*)(int threads, int count,
                         void (*body)(void *context, int i), void *context);

/// Who runs parts, and how.
struct RegionRunner {
  Backends backends; ///< Asked for kernels, in this order.
  /// What runs pieces of the results of elementwise parts, one after another in
  /// each piece; null: all parts are run as wholes.
  ForEach forEach = nullptr;
};

/// Whether somebody takes each part of the region of `site`.
bool acceptsRegion(const CallSite &site, const RegionRunner &runner);
/// What a call wants whose parts are run by `runner`.
KernelQuery queryRegion(const CallSite &site, const RegionRunner &runner);
/// The parts, prepared; null and a message if nobody does one.
std::unique_ptr<PreparedKernel> prepareRegion(const CallSite &site,
                                              const RegionRunner &runner,
                                              std::string &error);

/// The kernel of `fused` that runs parts by what `runner()` returns.
template <auto runner> Kernel regionKernel() {
  Kernel kernel{
      fusedOp, 1, KernelUse::Whole,
      [](const CallSite &site) { return queryRegion(site, runner()); },
      [](const CallSite &site, std::string &error) {
        return prepareRegion(site, runner(), error);
      }};
  kernel.accepts = [](const CallSite &site) {
    return acceptsRegion(site, runner());
  };
  return kernel;
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_REGION_H
