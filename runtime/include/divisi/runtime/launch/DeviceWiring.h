//===- DeviceWiring.h - The GPUs of ranks -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_LAUNCH_DEVICEWIRING_H
#define DIVISI_RUNTIME_LAUNCH_DEVICEWIRING_H

#include "divisi/runtime/launch/Processes.h"

#include <map>

namespace divisi::rt {

/// The backends of the host that are named in `names` ("cpu,reference"), and
/// behind them that of GPUs, whose kernels work in a memory of their own, where
/// no other does; `tf32` as cudaBackend() takes it. Fails as selectBackends().
Expected<std::vector<const Backend *>> chooseBackends(std::string_view names,
                                                      bool tf32);

/// What a caller has of GPUs, and keeps, by local rank.
struct CallersGpus {
  /// An ncclComm_t of all ranks each, or none; it outlives the session.
  std::map<uint32_t, void *> communicators;
  /// The numbers of GPUs, as CUDA counts them; the others are chosen.
  std::map<uint32_t, int> numbers;

  /// Fails with Usage where communicators are not of these ranks, of `numRanks`
  /// in all, or of another GPU than their number says; with Device where NCCL
  /// is missing or cannot say. Ranks without a number get their
  /// communicator's.
  Status complete(uint32_t numRanks);
};

/// Gives the local ranks of `options` the GPUs that their programs ask for, and
/// a communicator that reaches them over the one that it has. `processes`,
/// which have divided the ranks, outlive the session; null: this one has all,
/// or its caller says which GPUs are theirs. `given` is complete.
void wireDevices(SessionOptions &options, const Processes *processes,
                 const CallersGpus &given = {});

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_LAUNCH_DEVICEWIRING_H
