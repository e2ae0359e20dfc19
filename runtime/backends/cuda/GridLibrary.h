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
#include "runtime/backends/cuda/Driver.h"

#include <span>

namespace divisi::rt::cuda {

/// A kernel of an artifact, of no context.
class GridLibrary {
public:
  /// Of `driver`; empty until it is loaded.
  explicit GridLibrary(std::shared_ptr<const Driver> driver)
      : driver_(std::move(driver)) {}
  ~GridLibrary() {
    if (library_) {
      driver_->libraryUnload(library_);
    }
  }
  GridLibrary(const GridLibrary &) = delete;

  /// Takes the bytes of the artifact, in PTX or what the driver takes else.
  Status load(std::span<const std::byte> bytes) {
    Status status = driver_->check(
        driver_->libraryLoadData(&library_, bytes.data(), nullptr, nullptr, 0,
                                 nullptr, nullptr, 0),
        "load a generated kernel");
    return status.isOk()
               ? driver_->check(driver_->libraryGetKernel(&kernel_, library_,
                                                          gridFunctionName),
                                "find a generated kernel")
               : status;
  }
  /// The one that it has.
  CUkernel kernel() const { return kernel_; }

private:
  std::shared_ptr<const Driver> driver_;
  CUlibrary library_ = nullptr;
  CUkernel kernel_ = nullptr;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_GRIDLIBRARY_H
