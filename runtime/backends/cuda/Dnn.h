//===- Dnn.h - cuDNN, opened at run time ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_DNN_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_DNN_H

#include "divisi/Support/Status.h"

#include <cudnn_graph.h>
#include <map>
#include <memory>
#include <string>

namespace divisi::rt::cuda {

class DnnPlan;

/// The functions that are used, each as cudnn_graph.h declares it.
struct DnnLibrary {
  /// Null until the library is loaded.
  decltype(&::cudnnGetVersion) getVersion = nullptr;
  decltype(&::cudnnGetErrorString) getErrorString = nullptr;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) setStream = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) createDescriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroyDescriptor = nullptr;
  decltype(&::cudnnBackendSetAttribute) setAttribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) getAttribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;

  /// The library of this machine, of the header's major version. It stays in
  /// the process. Device if there is none, or one that is older than `oldest`.
  static Expected<std::shared_ptr<const DnnLibrary>> open();
  /// cuDNN 9.1: the first that says which engines keep NaN.
  static constexpr size_t oldest = 90100;

  /// What `result` is, of a call that was to `what`; Ok for success.
  Status check(cudnnStatus_t result, const std::string &what) const;
};

/// cuDNN as one GPU has it, and what it was asked for there.
class DnnHandle {
public:
  /// For the GPU whose context the calling thread has.
  static Expected<std::shared_ptr<const DnnHandle>> make();
  ~DnnHandle();
  DnnHandle(const DnnHandle &) = delete;

  /// The library of this machine.
  const DnnLibrary &library() const { return *library_; }
  /// Owned by this object.
  cudnnHandle_t handle() const { return handle_; }
  /// DnnLibrary::check().
  Status check(cudnnStatus_t result, const std::string &what) const {
    return library_->check(result, what);
  }
  /// What was planned for what is described by the text, which says all that it
  /// depends on; null where the library can do no such thing.
  std::map<std::string, std::unique_ptr<DnnPlan>> &plans() const {
    return plans_;
  }

private:
  DnnHandle(std::shared_ptr<const DnnLibrary> library, cudnnHandle_t handle);

  std::shared_ptr<const DnnLibrary> library_;
  cudnnHandle_t handle_;
  mutable std::map<std::string, std::unique_ptr<DnnPlan>> plans_;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_DNN_H
