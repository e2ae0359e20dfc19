//===- Driver.cpp - CUDA's driver, opened at run time ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/Driver.h"
#include "runtime/backends/cuda/FunctionTable.h"
#include "runtime/backends/cuda/Versions.h"

using namespace divisi;
using namespace divisi::rt::cuda;

static constexpr char libraryName[] = "libcuda.so.1";

static std::string fillTable(void *library, Driver &driver) {
  TableFiller table(library);
  table.fill(driver.init, DIVISI_SYMBOL(cuInit));
  table.fill(driver.driverGetVersion, DIVISI_SYMBOL(cuDriverGetVersion));
  table.fill(driver.getErrorName, DIVISI_SYMBOL(cuGetErrorName));
  table.fill(driver.getErrorString, DIVISI_SYMBOL(cuGetErrorString));
  table.fill(driver.deviceGetCount, DIVISI_SYMBOL(cuDeviceGetCount));
  table.fill(driver.deviceGet, DIVISI_SYMBOL(cuDeviceGet));
  table.fill(driver.deviceGetName, DIVISI_SYMBOL(cuDeviceGetName));
  table.fill(driver.deviceGetAttribute, DIVISI_SYMBOL(cuDeviceGetAttribute));
  table.fill(driver.deviceGetPCIBusId, DIVISI_SYMBOL(cuDeviceGetPCIBusId));
  table.fill(driver.deviceTotalMem, DIVISI_SYMBOL(cuDeviceTotalMem));
  table.fill(driver.deviceCanAccessPeer, DIVISI_SYMBOL(cuDeviceCanAccessPeer));
  table.fill(driver.primaryCtxRetain, DIVISI_SYMBOL(cuDevicePrimaryCtxRetain));
  table.fill(driver.primaryCtxRelease,
             DIVISI_SYMBOL(cuDevicePrimaryCtxRelease));
  table.fill(driver.ctxSetCurrent, DIVISI_SYMBOL(cuCtxSetCurrent));
  table.fill(driver.ctxEnablePeerAccess, DIVISI_SYMBOL(cuCtxEnablePeerAccess));
  table.fill(driver.memAlloc, DIVISI_SYMBOL(cuMemAlloc));
  table.fill(driver.memFree, DIVISI_SYMBOL(cuMemFree));
  table.fill(driver.memGetInfo, DIVISI_SYMBOL(cuMemGetInfo));
  table.fill(driver.memHostAlloc, DIVISI_SYMBOL(cuMemHostAlloc));
  table.fill(driver.memFreeHost, DIVISI_SYMBOL(cuMemFreeHost));
  table.fill(driver.memcpyAsync, DIVISI_SYMBOL(cuMemcpyAsync));
  table.fill(driver.memcpy2DAsync, DIVISI_SYMBOL(cuMemcpy2DAsync));
  table.fill(driver.memcpy3DAsync, DIVISI_SYMBOL(cuMemcpy3DAsync));
  table.fill(driver.memsetD8Async, DIVISI_SYMBOL(cuMemsetD8Async));
  table.fill(driver.memsetD16Async, DIVISI_SYMBOL(cuMemsetD16Async));
  table.fill(driver.memsetD32Async, DIVISI_SYMBOL(cuMemsetD32Async));
  table.fill(driver.memsetD2D32Async, DIVISI_SYMBOL(cuMemsetD2D32Async));
  table.fill(driver.streamCreate, DIVISI_SYMBOL(cuStreamCreate));
  table.fill(driver.streamDestroy, DIVISI_SYMBOL(cuStreamDestroy));
  table.fill(driver.streamWaitEvent, DIVISI_SYMBOL(cuStreamWaitEvent));
  table.fill(driver.streamBeginCapture, DIVISI_SYMBOL(cuStreamBeginCapture));
  table.fill(driver.streamEndCapture, DIVISI_SYMBOL(cuStreamEndCapture));
  table.fill(driver.graphInstantiate, DIVISI_SYMBOL(cuGraphInstantiate));
  table.fill(driver.graphLaunch, DIVISI_SYMBOL(cuGraphLaunch));
  table.fill(driver.graphExecDestroy, DIVISI_SYMBOL(cuGraphExecDestroy));
  table.fill(driver.graphDestroy, DIVISI_SYMBOL(cuGraphDestroy));
  table.fill(driver.eventCreate, DIVISI_SYMBOL(cuEventCreate));
  table.fill(driver.eventDestroy, DIVISI_SYMBOL(cuEventDestroy));
  table.fill(driver.eventRecord, DIVISI_SYMBOL(cuEventRecord));
  table.fill(driver.eventQuery, DIVISI_SYMBOL(cuEventQuery));
  table.fill(driver.libraryLoadData, DIVISI_SYMBOL(cuLibraryLoadData));
  table.fill(driver.libraryUnload, DIVISI_SYMBOL(cuLibraryUnload));
  table.fill(driver.libraryGetKernel, DIVISI_SYMBOL(cuLibraryGetKernel));
  table.fill(driver.kernelGetFunction, DIVISI_SYMBOL(cuKernelGetFunction));
  table.fill(driver.launchKernel, DIVISI_SYMBOL(cuLaunchKernel));
  return table.missing;
}

Expected<std::shared_ptr<const Driver>> Driver::open() {
  void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return makeError(ExitCode::Device, "no CUDA device: ", dlerror(), "; ",
                     libraryName,
                     " comes with NVIDIA's driver for the GPU; compile the "
                     "model with --gpu off where there is none");
  }
  auto driver = std::make_shared<Driver>();
  std::string missing = fillTable(library, *driver);
  int version = 0;
  if (driver->driverGetVersion &&
      driver->driverGetVersion(&version) == CUDA_SUCCESS &&
      version < versions::oldestDriver) {
    return makeError(ExitCode::Device, "NVIDIA's driver is for CUDA ",
                     versions::nameOfCuda(version), ", expected at least ",
                     versions::nameOfCuda(versions::oldestDriver),
                     ", as this build of divisi was made with CUDA ",
                     versions::cuda, "; update it, or build divisi with CUDA ",
                     version / 1000);
  }
  if (!missing.empty()) {
    return makeError(ExitCode::Device, libraryName, " has no ", missing,
                     "; expected NVIDIA's driver for CUDA ",
                     versions::nameOfCuda(versions::oldestDriver), " or later");
  }
  Status status = driver->check(driver->init(0), "start CUDA's driver");
  if (!status.isOk()) {
    return status;
  }
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::check(CUresult result, const std::string &what) const {
  if (result == CUDA_SUCCESS) {
    return {};
  }
  const char *name = nullptr, *text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  text = text ? text : "an unknown error";
  std::string number = name ? name : std::to_string(int(result));
  return makeError(ExitCode::Device, "CUDA cannot ", what, ": ", text, " (",
                   number, ")");
}
