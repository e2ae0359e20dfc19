//===- Nvml.cpp - NVIDIA's management library, opened at run time ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/Nvml.h"
#include "runtime/backends/cuda/FunctionTable.h"
#include "runtime/backends/cuda/GpuPaths.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

static constexpr char libraryName[] = "libnvidia-ml.so.1";

static std::string fillTable(void *handle, NvmlLibrary &library) {
  TableFiller table(handle);
  table.fill(library.init, DIVISI_SYMBOL(nvmlInit));
  table.fill(library.shutdown, DIVISI_SYMBOL(nvmlShutdown));
  table.fill(library.errorString, DIVISI_SYMBOL(nvmlErrorString));
  table.fill(library.getHandle, DIVISI_SYMBOL(nvmlDeviceGetHandleByPciBusId));
  table.fill(library.getNvLinkState, DIVISI_SYMBOL(nvmlDeviceGetNvLinkState));
  table.fill(library.getP2PStatus, DIVISI_SYMBOL(nvmlDeviceGetP2PStatus));
  table.fill(library.getPciGeneration,
             DIVISI_SYMBOL(nvmlDeviceGetMaxPcieLinkGeneration));
  table.fill(library.getPciLanes, DIVISI_SYMBOL(nvmlDeviceGetMaxPcieLinkWidth));
  return table.missing;
}

Expected<std::shared_ptr<const NvmlLibrary>> NvmlLibrary::open() {
  void *handle = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return Status(ExitCode::Device, dlerror());
  }
  auto library = std::make_unique<NvmlLibrary>();
  std::string missing = fillTable(handle, *library);
  if (!missing.empty()) {
    return makeError(ExitCode::Device, libraryName, " has no ", missing,
                     "; expected that of NVIDIA's driver for CUDA 12 or later");
  }
  Status status = library->check(library->init(), "start");
  if (!status.isOk()) {
    return status;
  }
  return std::shared_ptr<const NvmlLibrary>(library.release(),
                                            [](const NvmlLibrary *opened) {
                                              opened->shutdown();
                                              delete opened;
                                            });
}

Status NvmlLibrary::check(nvmlReturn_t result, const std::string &what) const {
  return result == NVML_SUCCESS ? Status()
                                : makeError(ExitCode::Device, "NVML cannot ",
                                            what, ": ", errorString(result));
}

//===----------------------------------------------------------------------===//
// What it says of GPUs
//===----------------------------------------------------------------------===//

/// Of a link that the GPU has not the state is an error.
static int countLinks(const NvmlLibrary &library, nvmlDevice_t gpu) {
  int count = 0;
  for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
    nvmlEnableState_t state = NVML_FEATURE_DISABLED;
    count += library.getNvLinkState(gpu, link, &state) == NVML_SUCCESS &&
             state == NVML_FEATURE_ENABLED;
  }
  return count;
}

/// -1 where it does not say.
static int numberOf(nvmlReturn_t (*question)(nvmlDevice_t, unsigned *),
                    nvmlDevice_t gpu) {
  unsigned number = 0;
  return question(gpu, &number) == NVML_SUCCESS ? int(number) : -1;
}

static Status readPaths(const NvmlLibrary &library,
                        const std::vector<nvmlDevice_t> &handles,
                        GpuTopology &topology) {
  for (size_t a = 0; a < handles.size(); ++a) {
    for (size_t b = 0; b < handles.size(); ++b) {
      nvmlGpuP2PStatus_t said = NVML_P2P_STATUS_UNKNOWN;
      Status status =
          a == b ? Status()
                 : library.check(
                       library.getP2PStatus(handles[a], handles[b],
                                            NVML_P2P_CAPS_INDEX_NVLINK, &said),
                       "describe the link between two GPUs");
      if (!status.isOk()) {
        return status;
      }
      bool isLinked = a != b && said == NVML_P2P_STATUS_OK;
      topology.paths[a * handles.size() + b] = a == b     ? GpuPath::Unknown
                                               : isLinked ? GpuPath::NvLink
                                                          : GpuPath::Pci;
    }
  }
  return {};
}

Status divisi::rt::cuda::readGpuPaths(GpuTopology &topology) {
  auto library = NvmlLibrary::open();
  if (!library) {
    return library.status();
  }
  const NvmlLibrary &nvml = **library;
  std::vector<nvmlDevice_t> handles;
  for (GpuFacts &gpu : topology.gpus) {
    nvmlDevice_t handle = nullptr;
    Status status = nvml.check(nvml.getHandle(gpu.pciAddress.c_str(), &handle),
                               "find the GPU at " + gpu.pciAddress);
    if (!status.isOk()) {
      return status;
    }
    gpu.nvLinks = countLinks(nvml, handle);
    gpu.pciGeneration = numberOf(nvml.getPciGeneration, handle);
    gpu.pciLanes = numberOf(nvml.getPciLanes, handle);
    handles.push_back(handle);
  }
  return readPaths(nvml, handles, topology);
}
