//===- NcclWorld.cpp - Ranks with emulated GPUs ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclWorld.h"

#include "divisi/runtime/Element.h"

#include <cstring>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;

template <typename T>
static void putNumbers(Bytes &bytes, int64_t count, Random &random) {
  constexpr int numbers[] = {1, -1, 2, 1};
  for (int64_t i = 0; i < count; ++i) {
    T value = T(float(numbers[random() % 4]));
    std::memcpy(bytes.data() + i * int64_t(sizeof(T)), &value, sizeof(T));
  }
}

Bytes divisi::test::drawElements(const StepDesc &step, int64_t count,
                                 Random &random) {
  Bytes bytes(size_t(count * byteWidth(step.type)));
  switch (step.type) {
  case DType::F64:
    putNumbers<double>(bytes, count, random);
    break;
  case DType::F32:
    putNumbers<float>(bytes, count, random);
    break;
  case DType::F16:
    putNumbers<Half>(bytes, count, random);
    break;
  case DType::BF16:
    putNumbers<BFloat>(bytes, count, random);
    break;
  default:
    for (std::byte &byte : bytes) {
      byte = std::byte(random() % (step.type == DType::Bool ? 2 : 256));
    }
  }
  return bytes;
}

NcclWorld::Gpu::Gpu(int ordinal)
    : CudaFixture{*makeCudaDevice(ordinal), {}, {}} {
  queue = std::move(*device->makeQueue());
  event = std::move(*device->makeEvent());
}

NcclWorld::NcclWorld(std::chrono::milliseconds timeout,
                     const std::map<uint32_t, NcclHandles> &given) {
  for (uint32_t rank : ranks) {
    gpus.emplace_back(int(rank));
  }
  communicator = makeNcclCommunicator(makeInprocCommunicator(timeout),
                                      {4, ranks, timeout}, given);
}

/// Puts it on the GPU's queue and waits for it there.
Status NcclWorld::put(QueuedStep &step, Gpu &gpu, const std::byte *source,
                      std::byte *result) {
  Status status = step.put(*gpu.queue, source, result);
  if (status.isOk()) {
    status = gpu.device->record(*gpu.queue, *gpu.event);
  }
  while (status.isOk()) {
    Expected<bool> isReached = gpu.device->poll(*gpu.event);
    if (!isReached || *isReached) {
      return isReached.status();
    }
    status = step.check(/*isNext=*/true);
  }
  return status;
}

Status NcclWorld::runOne(const StepDesc &step, size_t party,
                         const Bytes &source, Bytes &result) {
  uint32_t rank = step.parties[party].rank;
  Gpu &gpu = gpus[rank];
  auto share = communicator->prepareQueued(step, party, *gpu.device);
  if (!share) {
    return share.status();
  }
  auto from = std::move(*gpu.device->allocate(int64_t(source.size())));
  auto to = std::move(*gpu.device->allocate(int64_t(result.size())));
  auto workspace = std::move(*gpu.device->allocate((*share)->workspaceBytes()));
  (*share)->setWorkspace(workspace->data());
  gpu.copy(source.data(), from->data(), from->size());
  Status status = communicator->beginRun(step.entry, ranks, rank);
  for (int run = 0; run < 2 && status.isOk(); ++run) {
    status = put(**share, gpu, from->data(), to->data());
  }
  if (!status.isOk()) {
    communicator->endQueued(rank);
    return status;
  }
  if (!result.empty()) {
    result = gpu.read(*to);
  }
  return status;
}

std::vector<Status> NcclWorld::run(const StepDesc &described,
                                   const std::vector<Bytes> &sources,
                                   std::vector<Bytes> &results,
                                   const std::function<bool(size_t)> &comes) {
  StepDesc step = described;
  step.entry = entries_++;
  std::vector<Status> statuses(step.parties.size());
  results.assign(step.parties.size(), {});
  std::vector<std::thread> threads;
  for (uint32_t rank : ranks) {
    auto party = std::ranges::find(step.parties, rank, &StepParty::rank) -
                 step.parties.begin();
    if (size_t(party) == step.parties.size()) {
      threads.emplace_back([this, rank, entry = step.entry] {
        (void)communicator->beginRun(entry, ranks, rank);
      });
      continue;
    }
    results[party].resize(bytesOf(step, step.parties[party].result));
    if (comes(party)) {
      threads.emplace_back([&, party] {
        statuses[party] = runOne(step, party, sources[party], results[party]);
      });
    }
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return statuses;
}
