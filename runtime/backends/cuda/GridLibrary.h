//===- GridLibrary.h - A kernel of an artifact ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_GRIDLIBRARY_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_GRIDLIBRARY_H

#include "divisi/runtime/code/GridCode.h"
#include "runtime/backends/cuda/CudaDevice.h"

#include <span>

namespace divisi::rt::cuda {

/// A kernel of an artifact, of no context. All call sites, ranks and sessions
/// of a process that have the same code have the same one.
class GridLibrary {
public:
  /// That of these bytes, in PTX or what the driver takes else: one that
  /// somebody still has, or a new one. Device if the driver refuses them.
  static Expected<std::shared_ptr<const GridLibrary>>
  open(std::span<const std::byte> bytes);
  ~GridLibrary() {
    if (library_) {
      driver_->libraryUnload(library_);
    }
  }
  GridLibrary(const GridLibrary &) = delete;

  /// The kernel in `context`, whose code the driver loads there the first time:
  /// else it would in the first launch.
  Expected<CUfunction> functionIn(const Context &context) const;

private:
  explicit GridLibrary(std::shared_ptr<const Driver> driver)
      : driver_(std::move(driver)) {}
  Status load(const char *image);

  std::shared_ptr<const Driver> driver_;
  CUlibrary library_ = nullptr;
  CUkernel kernel_ = nullptr;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_GRIDLIBRARY_H
