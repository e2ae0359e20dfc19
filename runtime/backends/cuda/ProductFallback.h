//===- ProductFallback.h - Code in the place of a library -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_PRODUCTFALLBACK_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_PRODUCTFALLBACK_H

#include "divisi/runtime/code/ProductRegion.h"
#include "runtime/backends/cuda/PreparedLaunches.h"

#include <optional>

namespace divisi::rt::cuda {

/// The artifact's code for a product or a convolution, which a library may have
/// nothing for. It is brought to the GPU when that turns out, and not before.
class ProductFallback {
public:
  /// What `site` has for the product of `region`; there may be none.
  ProductFallback(const ProductRegion &region, const CallSite &site);

  /// Whether there is some.
  bool exists() const { return launch_.has_value(); }
  /// Lets it be used from now on, on the GPU of `context`.
  Status load(const std::shared_ptr<const Context> &context);
  /// Whether load() has succeeded.
  bool isUsed() const { return kernel_ != nullptr; }
  /// Makes of the operands of `context` what the library would write at `made`.
  Status launch(const LaunchContext &context, void *made);

private:
  std::vector<int> numbers_; ///< ProductRegion::productOperands().
  std::optional<GridLaunch> launch_;
  std::span<const std::byte> bytes_;         ///< The session's.
  std::unique_ptr<PreparedLaunches> kernel_; ///< Null until it is used.
  std::vector<const void *> operands_;       ///< Of the present launch.
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_PRODUCTFALLBACK_H
