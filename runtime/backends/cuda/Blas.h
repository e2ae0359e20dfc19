//===- Blas.h - cuBLASLt, opened at run time --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_BLAS_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_BLAS_H

#include "divisi/Support/Status.h"

#include <cublasLt.h>
#include <map>
#include <memory>
#include <string>

namespace divisi::rt::cuda {

/// The functions that are used, each as cublasLt.h declares it.
struct BlasLibrary {
  /// Null until the library is loaded.
  decltype(&::cublasLtGetStatusString) getStatusString = nullptr;
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtMatmulDescCreate) descCreate = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) descDestroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) descSetAttribute = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layoutCreate = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layoutDestroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layoutSetAttribute = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preferenceCreate = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preferenceDestroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preferenceSetAttribute =
      nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) getHeuristic = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;

  /// The library of this machine, of the header's major version. It stays in
  /// the process. Device if there is none.
  static Expected<std::shared_ptr<const BlasLibrary>> open();

  /// What `result` is, of a call that was to `what`; Ok for success.
  Status check(cublasStatus_t result, const std::string &what) const;
};

/// cuBLASLt as one GPU has it, and the algorithms that were asked for there.
class BlasHandle {
public:
  /// For the GPU whose context the calling thread has.
  static Expected<std::shared_ptr<const BlasHandle>> make();
  ~BlasHandle() { library_->destroy(handle_); }
  BlasHandle(const BlasHandle &) = delete;

  /// The library of this machine.
  const BlasLibrary &library() const { return *library_; }
  /// Owned by this object.
  cublasLtHandle_t handle() const { return handle_; }
  /// BlasLibrary::check().
  Status check(cublasStatus_t result, const std::string &what) const {
    return library_->check(result, what);
  }
  /// What the library has found for calls that are described by the text, which
  /// says all that it depends on; empty if nobody has asked yet.
  std::map<std::string, cublasLtMatmulAlgo_t> &algorithms() const {
    return algorithms_;
  }

private:
  BlasHandle(std::shared_ptr<const BlasLibrary> library,
             cublasLtHandle_t handle)
      : library_(std::move(library)), handle_(handle) {}

  std::shared_ptr<const BlasLibrary> library_;
  cublasLtHandle_t handle_;
  mutable std::map<std::string, cublasLtMatmulAlgo_t> algorithms_;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_BLAS_H
