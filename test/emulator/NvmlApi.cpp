//===- NvmlApi.cpp - NVIDIA's management library, emulated ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Divisi uses of libnvidia-ml.so.1. DIVISI_EMULATOR_TOPOLOGY says what
// joins the GPUs of the emulated driver:
//
//   nvlink   each with each, by 18 links (the default)
//   pairs    0 with 1, 2 with 3, ... by 4 links; PCIe between these
//   chain    each with the next one alone, by 2 links
//   odd      all but the last one with each other
//   pci      none
//   mute     NVML starts, and says nothing of paths
//   broken   NVML does not start
//
// What is asked before the library is started, or after it was shut down, or of
// a handle that it has not given, is refused.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Gpu.h"

#include <cstdio>
#include <cstdlib>
#include <nvml.h>
#include <string>

using namespace divisi::emulator;

static constexpr int mostGpus = 64;

/// Starts less ends.
static int &users() {
  static int count = 0;
  return count;
}

static std::string topology() {
  const char *given = std::getenv("DIVISI_EMULATOR_TOPOLOGY");
  return given ? given : "nvlink";
}

/// A handle points to an element, whose number is the GPU's.
static char *handles() {
  static char places[mostGpus];
  return places;
}

/// -1 for a handle that is none.
static int numberOf(nvmlDevice_t gpu) {
  auto number = reinterpret_cast<char *>(gpu) - handles();
  return number >= 0 && number < gpus().devices ? int(number) : -1;
}

/// What is wrong with a question about GPUs, if something is.
static nvmlReturn_t refusal(nvmlDevice_t a, nvmlDevice_t b) {
  return users() <= 0                         ? NVML_ERROR_UNINITIALIZED
         : numberOf(a) < 0 || numberOf(b) < 0 ? NVML_ERROR_INVALID_ARGUMENT
                                              : NVML_SUCCESS;
}

static bool areLinked(int a, int b) {
  std::string kind = topology();
  int last = gpus().devices - 1;
  return kind == "nvlink"  ? true
         : kind == "pairs" ? a / 2 == b / 2
         : kind == "chain" ? std::abs(a - b) == 1
         : kind == "odd"   ? a != last && b != last
                           : false;
}

nvmlReturn_t nvmlInit() {
  if (topology() == "broken") {
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  ++users();
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown() {
  return users()-- > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

const char *nvmlErrorString(nvmlReturn_t result) {
  return result == NVML_ERROR_DRIVER_NOT_LOADED ? "Driver Not Loaded"
         : result == NVML_ERROR_NOT_FOUND       ? "Not Found"
         : result == NVML_ERROR_NOT_SUPPORTED   ? "Not Supported"
                                                : "refused by the emulator";
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *address,
                                           nvmlDevice_t *gpu) {
  if (users() <= 0) {
    return NVML_ERROR_UNINITIALIZED;
  }
  for (int number = 0; number < gpus().devices; ++number) {
    if (pciAddress(number) == address) {
      *gpu = reinterpret_cast<nvmlDevice_t>(handles() + number);
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t gpu, unsigned link,
                                      nvmlEnableState_t *state) {
  if (nvmlReturn_t wrong = refusal(gpu, gpu)) {
    return wrong;
  }
  int number = numberOf(gpu), peers = 0;
  for (int other = 0; other < gpus().devices; ++other) {
    peers += other != number && areLinked(number, other);
  }
  std::string kind = topology();
  unsigned up = peers == 0        ? 0
                : kind == "pairs" ? 4
                : kind == "chain" ? 2 * unsigned(peers)
                                  : NVML_NVLINK_MAX_LINKS;
  *state = link < up ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  return link < NVML_NVLINK_MAX_LINKS ? NVML_SUCCESS
                                      : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b,
                                    nvmlGpuP2PCapsIndex_t index,
                                    nvmlGpuP2PStatus_t *status) {
  if (nvmlReturn_t wrong = refusal(a, b)) {
    return wrong;
  }
  if (a == b || index != NVML_P2P_CAPS_INDEX_NVLINK) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (topology() == "mute") {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  *status = areLinked(numberOf(a), numberOf(b)) ? NVML_P2P_STATUS_OK
                                                : NVML_P2P_STATUS_NOT_SUPPORTED;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t gpu,
                                                unsigned *generation) {
  *generation = 5;
  return refusal(gpu, gpu);
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t gpu, unsigned *lanes) {
  *lanes = 16;
  return refusal(gpu, gpu);
}
