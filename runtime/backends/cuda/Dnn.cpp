//===- Dnn.cpp - cuDNN, opened at run time --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/Dnn.h"
#include "runtime/backends/cuda/CudaDevice.h"
#include "runtime/backends/cuda/DnnPlan.h"
#include "runtime/backends/cuda/FunctionTable.h"
#include "runtime/backends/cuda/Versions.h"

using namespace divisi;
using namespace divisi::rt::cuda;

static std::string fillTable(void *handle, DnnLibrary &library) {
  TableFiller table(handle);
  table.fill(library.getVersion, DIVISI_SYMBOL(cudnnGetVersion));
  table.fill(library.getErrorString, DIVISI_SYMBOL(cudnnGetErrorString));
  table.fill(library.create, DIVISI_SYMBOL(cudnnCreate));
  table.fill(library.destroy, DIVISI_SYMBOL(cudnnDestroy));
  table.fill(library.setStream, DIVISI_SYMBOL(cudnnSetStream));
  table.fill(library.createDescriptor,
             DIVISI_SYMBOL(cudnnBackendCreateDescriptor));
  table.fill(library.destroyDescriptor,
             DIVISI_SYMBOL(cudnnBackendDestroyDescriptor));
  table.fill(library.setAttribute, DIVISI_SYMBOL(cudnnBackendSetAttribute));
  table.fill(library.getAttribute, DIVISI_SYMBOL(cudnnBackendGetAttribute));
  table.fill(library.finalize, DIVISI_SYMBOL(cudnnBackendFinalize));
  table.fill(library.execute, DIVISI_SYMBOL(cudnnBackendExecute));
  return table.missing;
}

Expected<std::shared_ptr<const DnnLibrary>> DnnLibrary::open() {
  if (auto driver = Driver::open(); !driver) {
    return driver.status();
  }
  const std::string libraryName = versions::fileOf("libcudnn", CUDNN_MAJOR);
  void *handle = dlopen(libraryName.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return makeError(ExitCode::Device,
                     "convolutions on GPUs need cuDNN: ", dlerror(), "; ",
                     libraryName,
                     " comes with NVIDIA's cuDNN: install it, and let "
                     "LD_LIBRARY_PATH name its folder");
  }
  auto library = std::make_shared<DnnLibrary>();
  std::string missing = fillTable(handle, *library);
  if (!missing.empty()) {
    return makeError(ExitCode::Device, libraryName, " has no ", missing,
                     "; expected that of cuDNN ", nameOfLibraryVersion(oldest),
                     " or later");
  }
  if (size_t found = library->getVersion(); found < oldest) {
    return makeError(ExitCode::Device, libraryName, " is of cuDNN ",
                     nameOfLibraryVersion(found), ", expected at least ",
                     nameOfLibraryVersion(oldest), "; update it");
  }
  return std::shared_ptr<const DnnLibrary>(std::move(library));
}

Status DnnLibrary::check(cudnnStatus_t result, const std::string &what) const {
  return result == CUDNN_STATUS_SUCCESS
             ? Status()
             : makeError(ExitCode::Device, "cuDNN cannot ", what, ": ",
                         getErrorString(result));
}

DnnHandle::DnnHandle(std::shared_ptr<const DnnLibrary> library,
                     cudnnHandle_t handle)
    : library_(std::move(library)), handle_(handle) {}

DnnHandle::~DnnHandle() {
  plans_.clear();
  library_->destroy(handle_);
}

Expected<std::shared_ptr<const DnnHandle>> DnnHandle::make() {
  auto library = DnnLibrary::open();
  if (!library) {
    return library.status();
  }
  cudnnHandle_t handle = nullptr;
  Status status =
      (*library)->check((*library)->create(&handle), "be used on this GPU");
  return status.isOk() ? Expected(std::shared_ptr<const DnnHandle>(
                             new DnnHandle(*library, handle)))
                       : status;
}

Expected<const DnnHandle *> Context::dnn() const {
  if (!dnn_) {
    driver(); // the thread has the context
    auto made = DnnHandle::make();
    if (!made) {
      return made.status();
    }
    dnn_ = std::move(*made);
  }
  return dnn_.get();
}
