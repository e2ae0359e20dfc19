//===- Blas.cpp - cuBLASLt, opened at run time ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/Blas.h"
#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/FunctionTable.h"
#include "runtime/backends/cuda/Versions.h"

using namespace divisi;
using namespace divisi::rt::cuda;

static_assert(
    CUBLAS_VER_MAJOR == versions::cuda,
    "the headers of cuBLASLt and of the driver are of different CUDA");

static std::string fillTable(void *handle, BlasLibrary &library) {
  TableFiller table(handle);
  table.fill(library.getStatusString, DIVISI_SYMBOL(cublasLtGetStatusString));
  table.fill(library.create, DIVISI_SYMBOL(cublasLtCreate));
  table.fill(library.destroy, DIVISI_SYMBOL(cublasLtDestroy));
  table.fill(library.descCreate, DIVISI_SYMBOL(cublasLtMatmulDescCreate));
  table.fill(library.descDestroy, DIVISI_SYMBOL(cublasLtMatmulDescDestroy));
  table.fill(library.descSetAttribute,
             DIVISI_SYMBOL(cublasLtMatmulDescSetAttribute));
  table.fill(library.layoutCreate, DIVISI_SYMBOL(cublasLtMatrixLayoutCreate));
  table.fill(library.layoutDestroy, DIVISI_SYMBOL(cublasLtMatrixLayoutDestroy));
  table.fill(library.layoutSetAttribute,
             DIVISI_SYMBOL(cublasLtMatrixLayoutSetAttribute));
  table.fill(library.preferenceCreate,
             DIVISI_SYMBOL(cublasLtMatmulPreferenceCreate));
  table.fill(library.preferenceDestroy,
             DIVISI_SYMBOL(cublasLtMatmulPreferenceDestroy));
  table.fill(library.preferenceSetAttribute,
             DIVISI_SYMBOL(cublasLtMatmulPreferenceSetAttribute));
  table.fill(library.getHeuristic,
             DIVISI_SYMBOL(cublasLtMatmulAlgoGetHeuristic));
  table.fill(library.matmul, DIVISI_SYMBOL(cublasLtMatmul));
  return table.missing;
}

Expected<std::shared_ptr<const BlasLibrary>> BlasLibrary::open() {
  if (auto driver = Driver::open(); !driver) {
    return driver.status();
  }
  const std::string libraryName =
      versions::fileOf("libcublasLt", versions::cuda);
  void *handle = dlopen(libraryName.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return makeError(ExitCode::Device,
                     "products on GPUs need cuBLASLt: ", dlerror(), "; ",
                     libraryName,
                     " comes with NVIDIA's CUDA toolkit: install it, and let "
                     "LD_LIBRARY_PATH name its folder");
  }
  auto library = std::make_shared<BlasLibrary>();
  std::string missing = fillTable(handle, *library);
  if (!missing.empty()) {
    return makeError(ExitCode::Device, libraryName, " has no ", missing,
                     "; expected that of a CUDA toolkit of version ",
                     CUBLAS_VER_MAJOR);
  }
  return std::shared_ptr<const BlasLibrary>(std::move(library));
}

Status BlasLibrary::check(cublasStatus_t result,
                          const std::string &what) const {
  return result == CUBLAS_STATUS_SUCCESS
             ? Status()
             : makeError(ExitCode::Device, "cuBLASLt cannot ", what, ": ",
                         getStatusString(result));
}

Expected<std::shared_ptr<const BlasHandle>> BlasHandle::make() {
  auto library = BlasLibrary::open();
  if (!library) {
    return library.status();
  }
  cublasLtHandle_t handle = nullptr;
  Status status =
      (*library)->check((*library)->create(&handle), "be used on this GPU");
  return status.isOk() ? Expected(std::shared_ptr<const BlasHandle>(
                             new BlasHandle(*library, handle)))
                       : status;
}

Expected<const BlasHandle *> Context::blas() const {
  if (!blas_) {
    driver(); // the thread has the context
    auto made = BlasHandle::make();
    if (!made) {
      return made.status();
    }
    blas_ = std::move(*made);
  }
  return blas_.get();
}
