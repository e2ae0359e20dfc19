//===- DeviceWiring.cpp - The GPUs of ranks -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/launch/DeviceWiring.h"
#include "divisi/runtime/backends/cuda/CudaBackend.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/comm/nccl/NcclCommunicator.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

Expected<std::vector<const Backend *>>
divisi::rt::chooseBackends(std::string_view names, bool tf32) {
  const Backend *const available[] = {&cpuBackend(), &referenceBackend()};
  auto chosen = selectBackends(names, available);
  if (chosen) {
    chosen->push_back(&cudaBackend(tf32));
  }
  return chosen;
}

Status CallersGpus::complete(uint32_t numRanks) {
  for (auto [rank, communicator] : communicators) {
    auto gpu = gpuOfCommunicator(communicator, rank, numRanks);
    if (!gpu) {
      return gpu.status();
    }
    int number = numbers.try_emplace(rank, *gpu).first->second;
    if (number != *gpu) {
      return makeError(ExitCode::Usage, "rank ", rank, " is to run on GPU ",
                       number, ", and was given a communicator of NCCL's of ",
                       "GPU ", *gpu);
    }
  }
  return {};
}

/// Ranks may have collectives between their GPUs, however they meet else.
static CommunicatorFactory reachingGpus(const CommunicatorFactory &inner,
                                        const CallersGpus &given) {
  std::map<uint32_t, NcclHandles> handles;
  for (auto [rank, communicator] : given.communicators) {
    handles[rank].communicator = communicator;
  }
  return [inner, handles](const CommunicatorRequest &request)
             -> Expected<std::shared_ptr<Communicator>> {
    if (!inner) {
      return makeNcclCommunicator(
          makeInprocCommunicator(request.timeout, request.spin), request,
          handles);
    }
    auto made = inner(request);
    return made ? makeNcclCommunicator(*made, request, handles)
                : std::move(made);
  };
}

/// GPU number n is that of the machine's rank n. Who shows a process as many as
/// it has ranks has chosen them for it.
static DeviceFactory openingGpus(const Processes *processes,
                                 std::vector<uint32_t> localRanks,
                                 std::map<uint32_t, int> numbers) {
  return [=](uint32_t rank,
             std::string_view space) -> Expected<std::shared_ptr<Device>> {
    if (space != cudaBackend().space()) {
      return std::shared_ptr<Device>();
    }
    if (auto given = numbers.find(rank); given != numbers.end()) {
      return makeCudaDevice(given->second);
    }
    if (!processes) {
      return makeCudaDevice(int(rank));
    }
    auto shown = countCudaDevices();
    if (!shown) {
      return shown.status();
    }
    auto local = std::ranges::find(localRanks, rank) - localRanks.begin();
    bool areOwn = size_t(*shown) == localRanks.size();
    return makeCudaDevice(areOwn ? int(local)
                                 : int(processes->numberOnMachine(rank)));
  };
}

void divisi::rt::wireDevices(SessionOptions &options,
                             const Processes *processes,
                             const CallersGpus &given) {
  options.device = openingGpus(processes, options.localRanks, given.numbers);
  options.communicator = reachingGpus(options.communicator, given);
}
