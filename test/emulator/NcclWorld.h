//===- NcclWorld.h - Ranks with emulated GPUs -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_NCCLWORLD_H
#define DIVISI_TEST_EMULATOR_NCCLWORLD_H

#include "test/emulator/CudaFixture.h"

#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/comm/nccl/NcclCommunicator.h"

#include <algorithm>
#include <random>
#include <thread>

namespace divisi::test {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937;

/// A number from the first to the last one.
inline int64_t draw(Random &random, int64_t from, int64_t to) {
  return from + int64_t(random() % uint64_t(to - from + 1));
}

/// Bytes of a box of the step, if there is one.
inline size_t bytesOf(const rt::StepDesc &step,
                      const std::optional<rt::Box> &box) {
  return box ? size_t(box->count() * rt::byteWidth(step.type)) : 0;
}

/// Elements of the step's type: 1, -1, 2, or their like, so that any order of
/// sums and products gives the same bits.
Bytes drawElements(const rt::StepDesc &step, int64_t count, Random &random);

/// Four ranks, each with a GPU and a thread.
class NcclWorld {
public:
  explicit NcclWorld(
      std::chrono::milliseconds timeout = std::chrono::seconds(20),
      const std::map<uint32_t, rt::NcclHandles> &given = {});

  /// The step on all of its parties, by those for whom `comes` holds: once put
  /// on a queue, once recorded and run, once run again. What has become of
  /// each.
  std::vector<Status> run(
      const rt::StepDesc &step, const std::vector<Bytes> &sources,
      std::vector<Bytes> &results,
      const std::function<bool(size_t party)> &comes = [](size_t) {
        return true;
      });

  struct Gpu : CudaFixture {
    explicit Gpu(int ordinal);
  };

  /// What a rank has of a step.
  struct Share {
    std::unique_ptr<rt::QueuedStep> step;
    std::unique_ptr<rt::DeviceMemory> from, to, workspace;
    std::shared_ptr<std::unique_ptr<rt::DeviceGraph>> graph;
  };
  Expected<Share> prepare(const rt::StepDesc &step, size_t party,
                          const Bytes &source, size_t resultBytes);
  /// Begins a run of the entry; its number, or 0 where it is not recorded.
  Expected<uint64_t> begin(const rt::StepDesc &step, size_t party,
                           const Share &share);
  /// Puts it on the GPU's queue, records it there, or runs what was recorded.
  static Status put(Share &share, Gpu &gpu);
  Status record(Share &share, Gpu &gpu, uint32_t rank);
  static Status runGraph(Share &share, Gpu &gpu);
  /// Waits until it has ended.
  static Status finish(Share &share, Gpu &gpu);
  /// On a thread for each party; what has become of each.
  static std::vector<Status>
  onEach(const rt::StepDesc &step,
         const std::function<Status(size_t party)> &body);

  static constexpr uint32_t ranks[] = {0, 1, 2, 3};
  std::vector<Gpu> gpus;
  std::shared_ptr<rt::Communicator> communicator;

private:
  Status runOne(const rt::StepDesc &step, size_t party, const Bytes &source,
                Bytes &result);
  Status runShare(const rt::StepDesc &step, size_t party, Share &share);

  uint32_t entries_ = 0;
};

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_NCCLWORLD_H
