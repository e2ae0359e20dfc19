//===- NcclWorld.cpp - Ranks with emulated GPUs ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/NcclWorld.h"

#include "divisi/runtime/kernels/Element.h"

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

Expected<NcclWorld::Share> NcclWorld::prepare(const StepDesc &step,
                                              size_t party, const Bytes &source,
                                              size_t resultBytes) {
  Gpu &gpu = gpus[step.parties[party].rank];
  auto made = communicator->prepareQueued(step, party, *gpu.device);
  if (!made) {
    return made.status();
  }
  Share share{std::move(*made), {}, {}, {}, {}};
  auto allocate = [&](int64_t bytes) {
    return std::move(
        *communicator->allocate(step.parties[party].rank, *gpu.device, bytes));
  };
  share.from = allocate(int64_t(source.size()));
  share.to = allocate(int64_t(resultBytes));
  share.workspace = allocate(share.step->workspaceBytes());
  share.step->setWorkspace(share.workspace->data());
  gpu.copy(source.data(), share.from->data(), share.from->size());
  return share;
}

Expected<uint64_t> NcclWorld::begin(const StepDesc &step, size_t party,
                                    const Share &share) {
  return communicator->beginRun(step.entry, ranks, step.parties[party].rank,
                                share.step->mayBeRecorded());
}

Status NcclWorld::put(Share &share, Gpu &gpu) {
  return share.step->put(*gpu.queue, share.from->data(), share.to->data());
}

Status NcclWorld::record(Share &share, Gpu &gpu, uint32_t rank) {
  Status status = gpu.device->beginGraph(*gpu.queue);
  if (!status.isOk()) {
    return status;
  }
  status = put(share, gpu);
  auto graph = gpu.device->endGraph(*gpu.queue);
  if (!status.isOk() || !graph) {
    return status.isOk() ? graph.status() : status;
  }
  share.graph =
      std::make_shared<std::unique_ptr<DeviceGraph>>(std::move(*graph));
  communicator->noteGraph(rank, share.graph);
  return {};
}

Status NcclWorld::runGraph(Share &share, Gpu &gpu) {
  share.step->beginAgain();
  return gpu.device->run(*gpu.queue, **share.graph);
}

Status NcclWorld::finish(Share &share, Gpu &gpu) {
  Status status = gpu.device->record(*gpu.queue, *gpu.event);
  while (status.isOk()) {
    Expected<bool> isReached = gpu.device->poll(*gpu.event);
    if (!isReached || *isReached) {
      return isReached.status();
    }
    status = share.step->check(/*isNext=*/true);
  }
  return status;
}

/// Three times; each writes all of the result.
Status NcclWorld::runShare(const StepDesc &step, size_t party, Share &share) {
  uint32_t rank = step.parties[party].rank;
  Gpu &gpu = gpus[rank];
  Bytes spoiled(size_t(share.to->size()), std::byte(0x55));
  for (int run = 0; run < 3; ++run) {
    gpu.copy(spoiled.data(), share.to->data(), share.to->size());
    Expected<uint64_t> number = begin(step, party, share);
    Status status = number.status();
    if (number && *number == 2) {
      status = record(share, gpu, rank);
    }
    if (status.isOk()) {
      status = share.graph ? runGraph(share, gpu) : put(share, gpu);
    }
    if (status.isOk()) {
      status = finish(share, gpu);
    }
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

Status NcclWorld::runOne(const StepDesc &step, size_t party,
                         const Bytes &source, Bytes &result) {
  uint32_t rank = step.parties[party].rank;
  auto share = prepare(step, party, source, result.size());
  if (!share) {
    return share.status();
  }
  Status status = runShare(step, party, *share);
  if (!status.isOk()) {
    communicator->endQueued(rank);
    return status;
  }
  if (!result.empty()) {
    result = gpus[rank].read(*share->to);
  }
  return status;
}

std::vector<Status>
NcclWorld::onEach(const StepDesc &step,
                  const std::function<Status(size_t)> &body) {
  std::vector<Status> statuses(step.parties.size());
  std::vector<std::thread> threads;
  for (size_t party = 0; party < statuses.size(); ++party) {
    threads.emplace_back([&, party] { statuses[party] = body(party); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return statuses;
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
        (void)communicator->beginRun(entry, ranks, rank, /*mayRecord=*/true);
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
