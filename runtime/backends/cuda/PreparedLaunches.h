//===- PreparedLaunches.h - Kernels of the compiler's -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_PREPAREDLAUNCHES_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_PREPAREDLAUNCHES_H

#include "divisi/runtime/code/GridLaunch.h"
#include "runtime/backends/cuda/CudaKernel.h"
#include "runtime/backends/cuda/GridLibrary.h"

namespace divisi::rt::cuda {

/// A call that launches the kernel which the compiler has made for it, once or
/// several times.
class PreparedLaunches : public CudaKernel {
public:
  /// In the order of `launches`.
  explicit PreparedLaunches(std::vector<GridLaunch> launches);
  /// Takes the kernel.
  Status load(std::span<const std::byte> bytes);
  Status makeReady(const std::shared_ptr<const Context> &context) override;
  Status launch(LaunchContext &context) override;

private:
  /// A launch, with places for what it is handed.
  struct Present {
    GridLaunch launch;
    std::vector<const void *> pointers;
    std::vector<void *> parameters; ///< Where these, and the numbers, are.

    explicit Present(GridLaunch from);
    Present(Present &&) = default;
  };

  std::shared_ptr<const GridLibrary> library_;
  CUfunction function_ = nullptr; ///< In the context of makeReady().
  std::vector<Present> launches_;
};

/// A `Prepared`, made with `arguments`, that has the code of `site`; null and a
/// message.
template <typename Prepared, typename... Arguments>
std::unique_ptr<PreparedKernel> prepareCode(const CallSite &site,
                                            std::string &error,
                                            Arguments &&...arguments) {
  auto made = std::make_unique<Prepared>(std::forward<Arguments>(arguments)...);
  Status status = made->load(site.code->bytes);
  if (status.isOk()) {
    return made;
  }
  error = status.message();
  return nullptr;
}

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_PREPAREDLAUNCHES_H
