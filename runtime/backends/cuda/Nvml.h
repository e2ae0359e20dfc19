//===- Nvml.h - NVIDIA's management library, opened at run time -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_NVML_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_NVML_H

#include "divisi/Support/Status.h"

#include <memory>
#include <nvml.h>
#include <string>

namespace divisi::rt::cuda {

/// The functions that are used, each as nvml.h declares it.
struct NvmlLibrary {
  /// Null until the library is loaded.
  decltype(&::nvmlInit) init = nullptr;
  decltype(&::nvmlShutdown) shutdown = nullptr;
  decltype(&::nvmlErrorString) errorString = nullptr;
  decltype(&::nvmlDeviceGetHandleByPciBusId) getHandle = nullptr;
  decltype(&::nvmlDeviceGetNvLinkState) getNvLinkState = nullptr;
  decltype(&::nvmlDeviceGetP2PStatus) getP2PStatus = nullptr;
  decltype(&::nvmlDeviceGetMaxPcieLinkGeneration) getPciGeneration = nullptr;
  decltype(&::nvmlDeviceGetMaxPcieLinkWidth) getPciLanes = nullptr;

  /// The library of this machine, ready to be asked; what has it last shuts it
  /// down. Device if there is none, or one that lacks something.
  static Expected<std::shared_ptr<const NvmlLibrary>> open();

  /// What `result` is, of a call that was to `what`; Ok for success.
  Status check(nvmlReturn_t result, const std::string &what) const;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_NVML_H
