//===- GpuTopology.cpp - What GPUs are there, and between them ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/backends/cuda/GpuTopology.h"

#include "runtime/backends/cuda/Driver.h"
#include "runtime/backends/cuda/GpuPaths.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

/// Every question of the driver about one GPU.
static Status readFacts(const Driver &driver, int ordinal, GpuFacts &facts) {
  CUdevice gpu = 0;
  char name[256] = "", address[32] = "";
  size_t bytes = 0;
  int major = 0, minor = 0, count = 0;
  CUresult result = driver.deviceGet(&gpu, ordinal);
  auto ask = [&](auto question, auto... arguments) {
    result = result == CUDA_SUCCESS ? question(arguments...) : result;
  };
  ask(driver.deviceGetName, name, int(sizeof(name)), gpu);
  ask(driver.deviceGetPCIBusId, address, int(sizeof(address)), gpu);
  ask(driver.deviceTotalMem, &bytes, gpu);
  ask(driver.deviceGetAttribute, &major,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu);
  ask(driver.deviceGetAttribute, &minor,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu);
  ask(driver.deviceGetAttribute, &count,
      CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu);
  facts = {name, address, 10 * major + minor, int64_t(bytes), count};
  return driver.check(result, "describe device " + std::to_string(ordinal));
}

/// Lets one GPU reach the memory of another, where it can.
static Status joinPeers(const Driver &driver, int from, int to, bool &reaches) {
  CUdevice gpu = 0, peer = 0;
  CUcontext own = nullptr, other = nullptr;
  int canAccess = 0;
  CUresult result = driver.deviceGet(&gpu, from);
  auto ask = [&](auto question, auto... arguments) {
    result = result == CUDA_SUCCESS ? question(arguments...) : result;
  };
  ask(driver.deviceGet, &peer, to);
  ask(driver.deviceCanAccessPeer, &canAccess, gpu, peer);
  reaches = canAccess != 0;
  if (reaches) {
    // Kept by the process, as the access is.
    ask(driver.primaryCtxRetain, &own, gpu);
    ask(driver.primaryCtxRetain, &other, peer);
    ask(driver.ctxSetCurrent, own);
    ask(driver.ctxEnablePeerAccess, other, 0U);
    result = result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? CUDA_SUCCESS
                                                              : result;
  }
  return driver.check(result, "join devices " + std::to_string(from) + " and " +
                                  std::to_string(to));
}

Expected<GpuTopology> divisi::rt::readGpuTopology() {
  auto opened = Driver::open();
  if (!opened) {
    return opened.status();
  }
  const Driver &driver = **opened;
  int count = 0;
  Status status =
      driver.check(driver.deviceGetCount(&count), "count its devices");
  GpuTopology topology;
  auto size = size_t(std::max(count, 0));
  topology.gpus.resize(size);
  topology.paths.resize(size * size, GpuPath::Unknown);
  topology.reaches.resize(size * size);
  for (int gpu = 0; gpu < count && status.isOk(); ++gpu) {
    status = readFacts(driver, gpu, topology.gpus[size_t(gpu)]);
  }
  for (int pair = 0; pair < count * count && status.isOk(); ++pair) {
    bool reaches = true;
    if (pair / count != pair % count) {
      status = joinPeers(driver, pair / count, pair % count, reaches);
    }
    topology.reaches[size_t(pair)] = reaches;
  }
  if (!status.isOk()) {
    return status;
  }
  if (Status paths = readGpuPaths(topology); !paths.isOk()) {
    std::ranges::fill(topology.paths, GpuPath::Unknown);
    topology.unknown = paths.message();
  }
  return topology;
}
