//===- NcclCommunicator.cpp - GPUs connected by NCCL ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/comm/StepShape.h"
#include "runtime/comm/nccl/HostSteps.h"
#include "runtime/comm/nccl/NcclStep.h"

#include <algorithm>
#include <mutex>
#include <tuple>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::nccl;

namespace {

class NcclCommunicator final : public HostSteps {
public:
  NcclCommunicator(std::shared_ptr<Communicator> inner,
                   const CommunicatorRequest &request,
                   const std::map<uint32_t, NcclHandles> &given);
  ~NcclCommunicator() override;

  bool reaches(std::string_view space) const override {
    return space == hostSpace || space == cuda::spaceName;
  }
  Expected<std::unique_ptr<QueuedStep>>
  prepareQueued(const StepDesc &step, size_t self, Device &device) override;
  Expected<std::unique_ptr<DeviceMemory>>
  allocate(uint32_t rank, Device &device, int64_t bytes) override;
  std::string describe(uint32_t rank) const override {
    return ranks_.at(rank).registration();
  }
  Expected<uint64_t> beginRun(uint32_t entry, std::span<const uint32_t> ranks,
                              uint32_t rank, bool mayRecord) override;
  void noteGraph(uint32_t rank,
                 std::weak_ptr<std::unique_ptr<DeviceGraph>> graph) override {
    ranks_.at(rank).noteGraph(std::move(graph));
  }
  void endQueued(uint32_t rank) override { ranks_.at(rank).abort(); }
  void abort(const Status &reason) override;
  void reset() override;

private:
  Expected<std::shared_ptr<const NcclLibrary>> library();
  Expected<SharedStep *> sharedOf(const StepDesc &step);

  std::chrono::milliseconds timeout_;
  AbortState aborts_;
  std::atomic<uint64_t> generation_ = 1; ///< Of communicators.
  std::map<uint32_t, NcclRank> ranks_;   ///< Local ones, by number.
  std::mutex mutex_;                     ///< Guards what follows.
  std::shared_ptr<const NcclLibrary> library_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>,
           std::unique_ptr<SharedStep>>
      steps_;
};

} // namespace

NcclCommunicator::NcclCommunicator(std::shared_ptr<Communicator> inner,
                                   const CommunicatorRequest &request,
                                   const std::map<uint32_t, NcclHandles> &given)
    : HostSteps(std::move(inner)), timeout_(request.timeout) {
  for (uint32_t rank : request.localRanks) {
    auto known = given.find(rank);
    ranks_.try_emplace(rank, rank, request.numRanks, this->inner(), aborts_,
                       timeout_,
                       known == given.end() ? NcclHandles() : known->second);
  }
}

/// By one thread for all of its ranks: none is waited for before all have
/// begun.
NcclCommunicator::~NcclCommunicator() {
  for (auto &[number, rank] : ranks_) {
    aborts_.isAborted() ? rank.abort() : rank.finalize(generation_);
  }
  for (auto &[number, rank] : ranks_) {
    rank.destroy();
  }
}

Expected<std::shared_ptr<const NcclLibrary>> NcclCommunicator::library() {
  std::lock_guard lock(mutex_);
  if (!library_) {
    auto opened = NcclLibrary::open();
    if (!opened) {
      return opened;
    }
    library_ = std::move(*opened);
  }
  return library_;
}

Expected<SharedStep *> NcclCommunicator::sharedOf(const StepDesc &step) {
  std::lock_guard lock(mutex_);
  auto &slot = steps_[{step.entry, step.tag, step.parties.front().rank}];
  if (!slot) {
    slot = std::make_unique<SharedStep>(step);
    for (const StepParty &party : step.parties) {
      slot->areLocal.push_back(ranks_.contains(party.rank));
    }
  } else if (slot->step != step) {
    return otherStepError(step);
  }
  return slot.get();
}

Expected<std::unique_ptr<QueuedStep>>
NcclCommunicator::prepareQueued(const StepDesc &step, size_t self,
                                Device &device) {
  Status status =
      step.reduce ? checkReduce(step, self) : planMove(step, self).status();
  if (status.isOk() && step.reduce && !combineQueued(step.type, *step.reduce)) {
    status = makeError(ExitCode::Unsupported, step.location, ": NCCL has no ",
                       stringify(*step.reduce), " of ", stringify(step.type),
                       " as the model requires it; compile the model again");
  }
  if (!status.isOk()) {
    return status;
  }
  auto opened = library();
  auto shared = opened ? sharedOf(step) : opened.status();
  if (!shared) {
    return shared.status();
  }
  NcclRank &rank = ranks_.at(step.parties[self].rank);
  rank.use(*opened, cuda::contextOf(device));
  Group group;
  for (const StepParty &party : step.parties) {
    group.push_back(party.rank);
  }
  auto share = std::make_unique<NcclStep>(
      **shared, self, planQueued(step, self), device, rank,
      rank.want(step.entry, group), aborts_, timeout_);
  status = share->makeReady();
  return status.isOk() ? Expected(std::unique_ptr<QueuedStep>(std::move(share)))
                       : status;
}

Expected<std::unique_ptr<DeviceMemory>>
NcclCommunicator::allocate(uint32_t rank, Device &device, int64_t bytes) {
  auto opened = library();
  if (!opened) { // which prepareQueued() says
    return device.allocate(bytes);
  }
  NcclRank &own = ranks_.at(rank);
  own.use(*opened, cuda::contextOf(device));
  return own.allocate(device, bytes);
}

Expected<uint64_t> NcclCommunicator::beginRun(uint32_t entry,
                                              std::span<const uint32_t> ranks,
                                              uint32_t rank, bool mayRecord) {
  return ranks_.at(rank).connect(entry, ranks, generation_, mayRecord);
}

void NcclCommunicator::abort(const Status &reason) {
  aborts_.set(reason);
  HostSteps::abort(reason);
}

/// Some ranks may have ended their communicators.
void NcclCommunicator::reset() {
  ++generation_;
  aborts_.clear();
  HostSteps::reset();
}

Status divisi::rt::findNccl() { return NcclLibrary::open().status(); }

Expected<int> divisi::rt::gpuOfCommunicator(void *communicator, uint32_t rank,
                                            uint32_t numRanks) {
  auto opened = NcclLibrary::open();
  if (!opened) {
    return opened.status();
  }
  const NcclLibrary &library = **opened;
  auto *given = static_cast<ncclComm_t>(communicator);
  int count = 0, self = 0, gpu = 0;
  ncclResult_t result = library.commCount(given, &count);
  if (result == ncclSuccess) {
    result = library.commUserRank(given, &self);
  }
  if (result == ncclSuccess) {
    result = library.commCuDevice(given, &gpu);
  }
  if (result != ncclSuccess) { // also if it is still being made
    return makeError(ExitCode::Device, "NCCL cannot tell the rank of the ",
                     "communicator that rank ", rank,
                     " was given: ", library.getErrorString(result),
                     "; give it one that is ready");
  }
  if (count != int(numRanks) || self != int(rank)) {
    return makeError(ExitCode::Usage, "rank ", rank, " of ", numRanks,
                     " was given a communicator of NCCL's in which it is ",
                     self, " of ", count);
  }
  return gpu;
}

std::shared_ptr<Communicator>
divisi::rt::makeNcclCommunicator(std::shared_ptr<Communicator> inner,
                                 const CommunicatorRequest &request,
                                 const std::map<uint32_t, NcclHandles> &given) {
  return std::make_shared<NcclCommunicator>(std::move(inner), request, given);
}
