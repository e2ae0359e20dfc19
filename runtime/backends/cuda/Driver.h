//===- Driver.h - CUDA's driver, opened at run time -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing links CUDA: a table of its functions is filled from the driver's
// library when a device is first asked for, so that one build serves machines
// with and without. The types come from NVIDIA's header.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CUDA_DRIVER_H
#define DIVISI_RUNTIME_BACKENDS_CUDA_DRIVER_H

#include "divisi/Support/Status.h"

#include <cuda.h>
#include <memory>
#include <string>

namespace divisi::rt::cuda {

/// The functions that are used, each as cuda.h declares it. The names without
/// a version are macros there, which say the right one.
struct Driver {
  /// Null until the driver is opened.
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDriverGetVersion) driverGetVersion = nullptr;
  decltype(&::cuGetErrorName) getErrorName = nullptr;
  decltype(&::cuGetErrorString) getErrorString = nullptr;
  decltype(&::cuDeviceGetCount) deviceGetCount = nullptr;
  decltype(&::cuDeviceGet) deviceGet = nullptr;
  decltype(&::cuDeviceGetName) deviceGetName = nullptr;
  decltype(&::cuDeviceGetAttribute) deviceGetAttribute = nullptr;
  decltype(&::cuDeviceGetPCIBusId) deviceGetPCIBusId = nullptr;
  decltype(&::cuDeviceTotalMem) deviceTotalMem = nullptr;
  decltype(&::cuDeviceCanAccessPeer) deviceCanAccessPeer = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) primaryCtxRetain = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) primaryCtxRelease = nullptr;
  decltype(&::cuCtxSetCurrent) ctxSetCurrent = nullptr;
  decltype(&::cuCtxEnablePeerAccess) ctxEnablePeerAccess = nullptr;
  decltype(&::cuMemAlloc) memAlloc = nullptr;
  decltype(&::cuMemFree) memFree = nullptr;
  decltype(&::cuMemGetInfo) memGetInfo = nullptr;
  decltype(&::cuMemHostAlloc) memHostAlloc = nullptr;
  decltype(&::cuMemFreeHost) memFreeHost = nullptr;
  decltype(&::cuMemcpyAsync) memcpyAsync = nullptr;
  decltype(&::cuMemcpy2DAsync) memcpy2DAsync = nullptr;
  decltype(&::cuMemcpy3DAsync) memcpy3DAsync = nullptr;
  decltype(&::cuMemsetD8Async) memsetD8Async = nullptr;
  decltype(&::cuMemsetD16Async) memsetD16Async = nullptr;
  decltype(&::cuMemsetD32Async) memsetD32Async = nullptr;
  decltype(&::cuMemsetD2D32Async) memsetD2D32Async = nullptr;
  decltype(&::cuStreamCreate) streamCreate = nullptr;
  decltype(&::cuStreamDestroy) streamDestroy = nullptr;
  decltype(&::cuStreamWaitEvent) streamWaitEvent = nullptr;
  decltype(&::cuStreamBeginCapture) streamBeginCapture = nullptr;
  decltype(&::cuStreamEndCapture) streamEndCapture = nullptr;
  decltype(&::cuGraphInstantiate) graphInstantiate = nullptr;
  decltype(&::cuGraphLaunch) graphLaunch = nullptr;
  decltype(&::cuGraphExecDestroy) graphExecDestroy = nullptr;
  decltype(&::cuGraphDestroy) graphDestroy = nullptr;
  decltype(&::cuEventCreate) eventCreate = nullptr;
  decltype(&::cuEventDestroy) eventDestroy = nullptr;
  decltype(&::cuEventRecord) eventRecord = nullptr;
  decltype(&::cuEventQuery) eventQuery = nullptr;
  decltype(&::cuLibraryLoadData) libraryLoadData = nullptr;
  decltype(&::cuLibraryUnload) libraryUnload = nullptr;
  decltype(&::cuLibraryGetKernel) libraryGetKernel = nullptr;
  decltype(&::cuKernelGetFunction) kernelGetFunction = nullptr;
  decltype(&::cuLaunchKernel) launchKernel = nullptr;

  /// The driver of this machine, ready to be used. It stays in the process.
  /// Device if there is none, or one that is older than the build's headers
  /// want (Versions.h).
  static Expected<std::shared_ptr<const Driver>> open();

  /// What `result` is, of a call that was to `what`; Ok for success.
  Status check(CUresult result, const std::string &what) const;
};

} // namespace divisi::rt::cuda

#endif // DIVISI_RUNTIME_BACKENDS_CUDA_DRIVER_H
