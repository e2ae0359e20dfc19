//===- NcclStep.h - A step as calls of NCCL ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step puts on its queue: copies that pack, the calls of NCCL as one
// group, copies that unpack. NCCL's communicators do not block: a call that
// says that it is in progress has put nothing on the queue yet, and is waited
// for; that takes until other ranks have made the same call only the first
// time, when NCCL connects them.
//
// The first time it is also waited for until it has ended. In a first run
// libraries load their kernels, each when it is first launched, which may have
// to wait for all that runs in its context (CUDA Programming Guide, "Lazy
// Loading", potential hazards: concurrent execution): for a step that waits for
// other ranks, whose threads may want the driver meanwhile. Steps of a rank are
// put on queues in one order on all ranks, so no rank waits for one that
// another has not come to.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_NCCLSTEP_H
#define DIVISI_RUNTIME_COMM_NCCL_NCCLSTEP_H

#include "runtime/comm/QueuedShape.h"
#include "runtime/comm/nccl/NcclRank.h"
#include "runtime/comm/nccl/NcclTypes.h"

#include <atomic>

namespace divisi::rt::nccl {

/// A step, as all of its ranks in this process see it.
struct SharedStep {
  /// Of a step that nobody has put on a queue yet.
  SharedStep(StepDesc step)
      : step(std::move(step)), puts(this->step.parties.size()) {}

  const StepDesc step; ///< What it does, of all parties.
  /// How often each party has put it on a queue, itself or by a graph; of
  /// others 0.
  std::vector<std::atomic<uint64_t>> puts;
  /// Which of the parties are of this process.
  std::vector<bool> areLocal;
};

/// One rank's share.
class NcclStep final : public QueuedStep {
public:
  /// That of party `self`, as `plan` says. All references must outlive it.
  NcclStep(SharedStep &shared, size_t self, QueuedPlan plan, Device &device,
           NcclRank &rank, Clique &clique, AbortState &aborts,
           std::chrono::milliseconds timeout);
  /// Makes what it puts on queues beside its calls, before it is first put
  /// somewhere. It uses the stream that the rank was given, if it was.
  Status makeReady();

  int64_t workspaceBytes() const override { return plan_.bytes; }
  void setWorkspace(std::byte *workspace) override { workspace_ = workspace; }
  Status put(DeviceQueue &queue, const void *source, void *result) override;
  /// Not where others see calls on a stream of theirs.
  bool mayBeRecorded() const override { return !given_; }
  void beginAgain() override;
  Status check(bool isNext) override;

private:
  Status pack(DeviceQueue &queue, const std::byte *source, std::byte *result);
  Status unpack(DeviceQueue &queue, std::byte *result);
  Status callOn(DeviceQueue &queue, const std::byte *source, std::byte *result);
  Status call(cudaStream_t stream, const std::byte *source, std::byte *result);
  ncclResult_t exchange(cudaStream_t stream, const std::byte *source,
                        std::byte *result);
  ncclResult_t reduceEach(cudaStream_t stream, const std::byte *source,
                          std::byte *result);
  Status timeoutStatus() const;
  Status awaitFirst();

  SharedStep &shared_;
  size_t self_;
  QueuedPlan plan_;
  Device &device_;
  NcclRank &rank_;
  Clique &clique_;
  AbortState &aborts_;
  std::chrono::milliseconds timeout_;
  NcclReduction reduction_ = {}; ///< Where it reduces.
  std::string begins_, goesOn_;  ///< What it was to do, for messages.
  std::byte *workspace_ = nullptr;
  /// Of a stream that was given: it, and points before and behind the calls.
  std::unique_ptr<DeviceQueue> given_;
  std::unique_ptr<DeviceEvent> before_, behind_;
  /// Points around what it has put on a queue for the first time; null later.
  std::unique_ptr<DeviceEvent> first_, last_;
  /// Since when it is the next to end.
  std::optional<std::chrono::steady_clock::time_point> since_;
};

} // namespace divisi::rt::nccl

#endif // DIVISI_RUNTIME_COMM_NCCL_NCCLSTEP_H
