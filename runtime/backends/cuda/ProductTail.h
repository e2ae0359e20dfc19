//===- ProductTail.h - What code does behind a library ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_PRODUCTTAIL_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_PRODUCTTAIL_H

#include "divisi/runtime/code/ProductRegion.h"
#include "runtime/backends/cuda/CudaKernel.h"

namespace divisi::rt::cuda {

/// The rest of a region that begins with a product or a convolution: a
/// generated kernel that goes over what the library has made.
class ProductTail {
public:
  /// Whether `site` has code exactly if something is left, and that is of it.
  static bool isCoded(const ProductRegion &region, const CallSite &site);
  /// The result of the call that the library may write for the kernel to go
  /// over it; 0 if nothing is left; -1: what it makes lies in the workspace.
  static int placeOf(const ProductRegion &region);
  /// The bytes of that in the workspace.
  static int64_t madeBytes(const ProductRegion &region) {
    return placeOf(region) < 0 ? region.made().bytes() : 0;
  }

  /// Takes the code of `site`, if something is left; false and a message.
  bool prepare(const ProductRegion &region, const CallSite &site,
               std::string &error);
  /// As CudaKernel has it.
  Status makeReady(const std::shared_ptr<const Context> &context) {
    return kernel_ ? static_cast<CudaKernel &>(*kernel_).makeReady(context)
                   : Status();
  }
  /// Where the library writes, in this launch.
  void *made(const LaunchContext &context) const {
    return place_ < 0 ? context.workspace
                      : context.results[static_cast<size_t>(place_)];
  }
  /// Goes on with that.
  Status launch(const LaunchContext &context);

private:
  int place_ = 0;
  std::vector<int> numbers_;               ///< ProductRegion::tailOperands().
  std::unique_ptr<PreparedKernel> kernel_; ///< Null if nothing is left.
  std::vector<const void *> operands_;     ///< Of the present launch.
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_PRODUCTTAIL_H
